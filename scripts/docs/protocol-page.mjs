// The reference page of the protocol: prose about the wire, then tables generated from the method table and the error table.

import { readFileSync } from 'node:fs';
import { errorTable } from '../../dist/protocol/errors.js';
import { requests } from '../../dist/protocol/methods.js';
import { notifications } from '../../dist/protocol/notifications.js';
import { protocolSchema } from './protocol-schema.mjs';
import { memberRows, typeText } from './schema-rows.mjs';

/** @import { Row, Schema } from './schema-rows.mjs' */

const families = {
  connection: { title: 'Connection', lead: 'Methods for the connection itself, and for which processes it follows.' },
  session: { title: 'Session', lead: 'Methods for the processes of the session, and the machine they run on.' },
  command: {
    title: 'One-shot commands',
    lead: 'Commands that reply when they have ended. Their `processId` is private to the connection and unknown to `process/…`.',
  },
  file: {
    title: 'Files',
    lead: 'Files of the machine. `files/…` is behind `client.files`; `fs/…` is what Codex’s client uses, with `file:` URIs.',
  },
  network: { title: 'Network', lead: 'HTTP requests from the machine, and its listening ports.' },
  discovery: { title: 'Discovery', lead: 'Configuration, plugins and skills on the machine, for Codex’s client.' },
};

/** Values for the examples in the error table. `problem` is a sentence, so each error has its own. */
const exampleValues = {
  method: 'fs/rename',
  family: 'exec',
  demand: 'sandbox',
  freeBytes: 1024,
  form: 'prepared',
  limit: 256,
  offeredBytes: 65_536,
  processId: 'p1',
  queuedBytes: 16_776_192,
  remedy: 'io.kind "pty"',
  sessionId: '5f0c2a',
  flowId: 7,
};
/** @type {Record<string, string>} */
const exampleProblems = {
  internalError: 'internal error',
  invalidRequest: 'command must not be empty',
  sandboxUnavailable: 'sandboxed commands need bubblewrap, which is not installed; install it with "apt install bubblewrap"',
  invalidParams: 'size.rows: expected an integer from 1 to 65535, got 0',
  fileNotFound: 'ENOENT: no such file or directory, open "/home/user/a.txt"',
  fileRefused: 'EACCES: permission denied, open "/etc/shadow"',
  fileFailed: 'ENOSPC: no space left on device, write "/home/user/a.txt"',
  networkRefused: 'this server does not forward connections; start it with --allow-forward',
  networkFailed: 'connect ECONNREFUSED 127.0.0.1:8080',
  spawnFailed: 'program "nonesuch" was not found',
};

/** The whole page as Markdown. */
export function protocolPage() {
  const { $defs } = protocolSchema();
  const preamble = readFileSync(new URL('protocol-preamble.md', import.meta.url), 'utf8').trimEnd();
  const parts = [
    preamble,
    ...overview(),
    ...requestParts($defs),
    ...notificationParts($defs),
    ...typeParts($defs),
    ...errorParts(),
    ...schemaPart,
  ];
  return `${parts.join('\n\n')}\n`;
}

function overview() {
  const requestRows = Object.entries(requests).map(([name, { summary }]) => [link(name), firstSentence(summary)]);
  const notificationRows = Object.entries(notifications).map(([name, { summary, from }]) => [
    link(name),
    from,
    firstSentence(summary),
  ]);
  return [
    '## At a glance',
    table(['Request', 'What it does'], requestRows),
    table(['Notification', 'From', 'What it reports'], notificationRows),
  ];
}

/** @param {Record<string, Schema>} $defs */
function requestParts($defs) {
  return Object.entries(families).flatMap(([family, { title, lead }]) => [
    `## ${title}`,
    lead,
    ...Object.entries(requests)
      .filter(([, row]) => row.family === family)
      .flatMap(([method, { summary }]) => [
        `### ${method}`,
        summary,
        ...members('Parameters', $defs[`${method} params`]),
        ...members('Result', $defs[`${method} result`]),
      ]),
  ]);
}

/** @param {Record<string, Schema>} $defs */
function notificationParts($defs) {
  return [
    '## Notifications',
    'Never answered.',
    ...Object.entries(notifications).flatMap(([name, { from, summary }]) => [
      `### ${name}`,
      `From ${from === 'both' ? 'either side' : `the ${from}`}. ${summary}`,
      ...members('Parameters', $defs[`${name} params`]),
    ]),
  ];
}

/** @param {Record<string, Schema>} $defs */
function typeParts($defs) {
  const named = Object.entries($defs).filter(([name]) => !name.includes(' '));
  return [
    '## Types',
    'Used in several places above.',
    ...named.flatMap(([name, schema]) => [`### type ${name}`, memberTable(memberRows(schema))]),
  ];
}

function errorParts() {
  const rows = Object.entries(errorTable).map(([name, row]) => [`\`${name}\``, String(row.code), exampleText(name, row)]);
  return [
    '## Errors',
    [
      'The number is the `code` on the wire. The name is `data.kind` there, next to the values used in the message, and the `kind` of the',
      '`ExecError` that the client library throws. Test these, never the message. Malformed parameters are `invalidParams`; the message names',
      'the member, what was expected and what it got. The client library applies the same rules and messages before sending.',
    ].join('\n'),
    table(['Name', 'Number', 'Example'], rows),
  ];
}

const schemaPart = [
  '## JSON Schema',
  [
    'The package contains these tables as a JSON Schema document (draft 2020-12), `sluice/protocol/schema.json`. Its `$defs` has each',
    'type under its name, and `<method> params`, `<method> result` and `<notification> params` for the rest.',
  ].join('\n'),
];

/**
 * @param {string} name
 * @param {{ text: (values: never) => string }} row its text function takes the error's values, all of which the examples provide
 */
function exampleText(name, row) {
  const text = row.text(/** @type {never} */ ({ ...exampleValues, problem: exampleProblems[name] }));
  if (!text.includes('undefined')) return text;
  throw new Error(`the error "${name}" has no example; add its values to scripts/docs/protocol-page.mjs`);
}

/**
 * A label with a table below it, or followed by a few words if there is nothing to tabulate.
 * @param {string} label
 * @param {Schema} schema
 */
function members(label, schema) {
  if (schema.$ref !== undefined) return [`**${label}:** ${typeText(schema)}`];
  const rows = memberRows(schema);
  if (rows.length > 0) return [`**${label}**`, memberTable(rows)];
  return [`**${label}:** ${schema.anyOf === undefined ? '`{}`' : 'none'}`];
}

/**
 * Omits the last column if no member has a meaning.
 * @param {Row[]} rows
 */
function memberTable(rows) {
  const escaped = rows.map(([name, type, required, meaning]) => [name, type, required, withoutMarkup(meaning)]);
  const columns = escaped.some((row) => row[3] !== '') ? 4 : 3;
  return table(
    ['Name', 'Type', 'Required', 'Meaning'].slice(0, columns),
    escaped.map((row) => row.slice(0, columns)),
  );
}

/**
 * Descriptions are plain text except for code in backticks: a glob's stars must not become emphasis.
 * @param {string} text
 */
function withoutMarkup(text) {
  return text.replaceAll(
    /(`[^`]*`)|[*<]/g,
    (/** @type {string} */ found, /** @type {string | undefined} */ code) => code ?? `\\${found}`,
  );
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

/** @param {string} name */
function link(name) {
  return `[\`${name}\`](#${name.toLowerCase().replaceAll('/', '')})`;
}

/** @param {string} text */
function firstSentence(text) {
  return /^.*?[.](?=\s|$)/.exec(text)?.[0] ?? text;
}
