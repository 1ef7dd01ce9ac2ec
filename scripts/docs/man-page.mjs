// The man page, sluice(1), in the man macros that both groff and mandoc support.

import { readFileSync } from 'node:fs';
import { cliManual, pieces } from './cli-manual.mjs';

/** @import { DescribedCommand, OptionGroup, Row } from './cli-manual.mjs' */

/** Maximum line length of the source; man page viewers wrap text themselves. */
const sourceColumns = 80;

/** The whole page as roff. */
export async function manPage() {
  const manual = await cliManual();
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return [
    `.TH SLUICE 1 "${buildDate()}" "Sluice ${version}" "User Commands"`,
    // Users copy the names of options and variables: no hyphenation, no wide gaps around them.
    '.nh',
    '.ad l',
    '.SH NAME',
    ...filled(`sluice - ${manual.tagline}`),
    '.SH SYNOPSIS',
    ...manual.commands.flatMap(synopsis).slice(1),
    '.SH DESCRIPTION',
    ...paragraphs(manual.introduction).slice(1),
    '.SH EXAMPLES',
    // One per command; the rest are in the command's own section.
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
    ...paragraphs(['The docs folder of the package describes the protocol and the architecture.']),
    '',
  ].join('\n');
}

/** The date of the build, or of the source for a reproducible build. */
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
 * `-e, --env K=V`: the literal part in bold, the placeholder in italics.
 * @param {string} spelled
 */
function optionTag(spelled) {
  const [, options, placeholder] = /^((?:-\S, )?\S+)(?: (.*))?$/.exec(spelled) ?? [];
  return options.split(', ').map(bold).join(', ') + (placeholder === undefined ? '' : ` \\fI${escaped(placeholder)}\\fR`);
}

/**
 * Each sentence begins on a new line, which lets man page viewers set the space before it.
 * @param {string} text
 */
function filled(text) {
  const roff = pieces(text)
    .map((piece) => (piece.kind === 'typed' ? bold(piece.text) : escaped(piece.text)))
    .join('');
  /** @type {string[]} */
  const lines = [];
  let startsSentence = true;
  for (const word of roff.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (startsSentence || last.length + 1 + word.length > sourceColumns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
    startsSentence = /[^.!?][.!?]+$/.test(word);
  }
  return lines.map((line) => (line.startsWith('.') ? `\\&${line}` : line));
}

/** @param {string} text */
function bold(text) {
  return `\\fB${escaped(text)}\\fR`;
}

/**
 * ASCII that no viewer takes for an instruction or replaces typographically, so that users can copy dashes and quotes.
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
