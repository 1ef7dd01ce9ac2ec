// The reference page of the command line, in Markdown.

import { cliManual, pieces } from './cli-manual.mjs';

/** @import { DescribedCommand, OptionGroup, Row } from './cli-manual.mjs' */

/** The whole page as Markdown. */
export async function cliPage() {
  const manual = await cliManual();
  const parts = [
    '# Command line',
    '<!-- Written by "npm run docs" from the manuals in src/cli. -->',
    `${manual.tagline.replace(/^./, (letter) => letter.toUpperCase())}.`,
    ...manual.introduction.map(markdown),
    '## Commands',
    commandTable(manual.commands),
    ...manual.commands.flatMap(commandParts),
    ...manual.commonGroups.flatMap(({ heading, options }) => [`## ${heading} options`, optionTable(options)]),
    '## Exit status',
    table(['Status', 'Meaning'], manual.exitStatus.map(row)),
    '## Environment',
    table(['Variable', 'Meaning'], manual.environment.map(row)),
    '## Files',
    table(['File', 'Meaning'], manual.files.map(row)),
    '## See also',
    '[protocol.md](protocol.md) has what goes over the wire, [architecture.md](architecture.md) how it is made.',
  ];
  return `${parts.join('\n\n')}\n`;
}

/** @param {DescribedCommand[]} commands */
function commandTable(commands) {
  return table(
    ['Command', 'For', 'What it does'],
    commands.map(({ name, group, summary }) => [`[\`${name}\`](#${anchor(`sluice ${name}`)})`, group, markdown(summary)]),
  );
}

/** @param {DescribedCommand} command */
function commandParts({ name, usage, about, examples, groups, commonHeadings, notes }) {
  return [
    `## sluice ${name}`,
    code(usage),
    markdown(about),
    exampleBlock(examples),
    ...groups.flatMap(({ heading, options }) => [`**${heading}**`, optionTable(options)]),
    ...commonHeadings.map((heading) => `**${heading}**: see [${heading} options](#${anchor(`${heading} options`)}).`),
    ...notes.map(markdown),
  ];
}

/** @param {OptionGroup['options']} options */
function optionTable(options) {
  return table(
    ['Option', 'Meaning'],
    options.map(({ spelled, meaning }) => row([spelled, meaning])),
  );
}

/** @param {Row} row */
function row([name, meaning]) {
  return [code(name), markdown(meaning)];
}

/** @param {string} heading */
function anchor(heading) {
  return heading.toLowerCase().replaceAll(' ', '-');
}

/** @param {DescribedCommand['examples']} examples */
function exampleBlock(examples) {
  const widest = Math.max(...examples.map(({ line }) => line.length));
  return ['```sh', ...examples.map(({ line, meaning }) => `${line.padEnd(widest)}  # ${meaning}`), '```'].join('\n');
}

/**
 * @param {string[]} header
 * @param {string[][]} rows
 */
function table(header, rows) {
  /** @param {string[]} cells */
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** @param {string} text */
function markdown(text) {
  return pieces(text)
    .map((piece) => (piece.kind === 'typed' ? code(piece.text) : piece.text.replaceAll(/[*<_`]/g, '\\$&')))
    .join('');
}

/** @param {string} text */
function code(text) {
  return `\`${text}\``;
}
