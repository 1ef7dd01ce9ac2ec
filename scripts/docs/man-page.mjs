// The man page, sluice(1), in the man macros that both groff and mandoc know.

import { readFileSync } from 'node:fs';
import { cliManual, pieces } from './cli-manual.mjs';

/** @import { DescribedCommand, OptionGroup, Row } from './cli-manual.mjs' */

/** Longest line of the source; readers of man pages wrap for themselves. */
const sourceColumns = 80;

/** The whole page as roff. */
export async function manPage() {
  const manual = await cliManual();
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return [
    `.TH SLUICE 1 "${buildDate()}" "Sluice ${version}" "User Commands"`,
    // Names of options and variables are there to be copied: no hyphens in them, no wide gaps around them.
    '.nh',
    '.ad l',
    '.SH NAME',
    ...filled(`sluice - ${manual.tagline}`),
    '.SH SYNOPSIS',
    ...manual.commands.flatMap(synopsis).slice(1),
    '.SH DESCRIPTION',
    ...paragraphs(manual.introduction).slice(1),
    '.SH EXAMPLES',
    // One of each; the others stand with their command.
    ...manual.commands.flatMap(({ examples: [first], summary }) => entry(bold(first?.line ?? ''), summary)),
    '.SH COMMANDS',
    ...manual.commands.flatMap(command),
    ...manual.commonGroups.flatMap(({ heading, options }) => [
      `.SH ${heading.toUpperCase()} OPTIONS`,
      ...options.flatMap(option),
    ]),
    ...['.SH EXIT STATUS', ...entries(manual.exitStatus)],
    ...['.SH ENVIRONMENT', ...entries(manual.environment)],
    ...['.SH FILES', ...entries(manual.files)],
    '.SH SEE ALSO',
    '.BR ssh (1),',
    '.BR timeout (1)',
    ...paragraphs(['The folder docs of the package has the protocol and the architecture.']),
    '',
  ].join('\n');
}

/** Of the build, or of the source where a build is to be repeated exactly. */
function buildDate() {
  const epoch = process.env['SOURCE_DATE_EPOCH'];
  return (epoch ? new Date(Number(epoch) * 1000) : new Date()).toISOString().slice(0, 10);
}

/** @param {Pick<DescribedCommand, 'name' | 'usage'>} command */
function synopsis({ name, usage }) {
  return ['.br', `${bold(`sluice ${name}`)}${escaped(usage.slice(`sluice ${name}`.length))}`];
}

/** @param {DescribedCommand} command */
function command({ name, usage, about, examples, groups, commonHeadings, notes }) {
  return [
    `.SS sluice ${name}`,
    ...synopsis({ name, usage }).slice(1),
    ...paragraphs([about]),
    ...examples.flatMap(({ line, meaning }) => entry(bold(line), meaning)),
    ...groups.flatMap(({ heading, options }) => [...paragraphs([`${heading}:`]), ...options.flatMap(option)]),
    ...paragraphs(commonHeadings.map((heading) => `${heading}: see ${heading.toUpperCase()} OPTIONS below.`)),
    ...paragraphs(notes),
  ];
}

/** @param {readonly string[]} texts */
function paragraphs(texts) {
  return texts.flatMap((text) => ['.PP', ...filled(text)]);
}

/** @param {Row[]} rows */
function entries(rows) {
  return rows.flatMap(([name, meaning]) => entry(bold(name), meaning));
}

/**
 * @param {string} tag
 * @param {string} text
 */
function entry(tag, text) {
  return ['.TP', tag, ...filled(text)];
}

/** @param {OptionGroup['options'][number]} option */
function option({ spelled, meaning }) {
  return entry(optionTag(spelled), meaning);
}

/**
 * `-e, --env K=V`: what is typed as it is, and what stands for something else.
 * @param {string} spelled
 */
function optionTag(spelled) {
  const [, options, placeholder] = /^((?:-\S, )?\S+)(?: (.*))?$/.exec(spelled) ?? [];
  return options.split(', ').map(bold).join(', ') + (placeholder === undefined ? '' : ` \\fI${escaped(placeholder)}\\fR`);
}

/**
 * A sentence begins on a line of its own, which lets readers of man pages set the space before it.
 * @param {string} text
 */
function filled(text) {
  const roff = pieces(text)
    .map((piece) => (piece.kind === 'typed' ? bold(piece.text) : escaped(piece.text)))
    .join('');
  /** @type {string[]} */
  const lines = [];
  let isSentenceOver = true;
  for (const word of roff.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (isSentenceOver || last.length + 1 + word.length > sourceColumns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
    isSentenceOver = /[^.!?][.!?]+$/.test(word);
  }
  return lines.map((line) => (line.startsWith('.') ? `\\&${line}` : line));
}

/** @param {string} text */
function bold(text) {
  return `\\fB${escaped(text)}\\fR`;
}

/**
 * ASCII that no reader takes for an instruction or makes typographic: dashes and quotes are there to be copied.
 * @param {string} text
 */
function escaped(text) {
  /** @type {Record<string, string>} */
  const named = { '\\': '\\(rs', '-': '\\-', "'": '\\(aq', '"': '\\(dq', '`': '\\(ga', '^': '\\(ha', '~': '\\(ti' };
  return text.replaceAll(
    /[\\\-'"`^~]|[^\x20-\x7e]/gu,
    (found) => named[found] ?? `\\[u${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}
