// The documentation of the command line as data: the manual of each command, and what applies to all of them. The man page and
// docs/cli.md are two renderings of it.

import { commandGroups, commands } from '../../dist/cli/commands.js';
import { failureStatus, ownFailure, stdoutGone, timedOut } from '../../dist/cli/exit-status.js';
import { optionGroups, spellOption } from '../../dist/cli/help.js';
import { envNameOf } from '../../dist/cli/serve/options.js';

/** @import { CommandEntry } from '../../dist/cli/commands.js' */

/** @typedef {{ heading: string, options: { spelled: string, meaning: string }[] }} OptionGroup */
/** @typedef {Awaited<ReturnType<typeof cliManual>>['commands'][number]} DescribedCommand */
/** @typedef {readonly [name: string, meaning: string]} Row */

/**
 * Texts are plain; `pieces` finds the parts of them that a user types. Commands are in the order of their groups. Options that several
 * commands share, such as those that select the server, are described once, in `commonGroups`.
 */
export async function cliManual() {
  const described = await Promise.all(commands.map(describe));
  const ordered = commandGroups.flatMap((group) => described.filter((command) => command.group === group));
  const commonGroups = inCommon(ordered.flatMap(({ groups }) => groups));
  /** @param {OptionGroup} group */
  const isCommon = (group) => commonGroups.some((common) => areSame(common, group));
  const withoutCommon = ordered.map(({ groups, ...command }) => ({
    ...command,
    groups: groups.filter((group) => !isCommon(group)),
    commonHeadings: groups.filter(isCommon).map(({ heading }) => heading),
  }));
  return { tagline, introduction, commands: withoutCommon, commonGroups, exitStatus, environment, files };
}

/** @param {CommandEntry} row */
async function describe({ name, group, summary, load }) {
  const { usage, about, examples, options, notes = [] } = (await load()).manual;
  const groups = optionGroups(options).map(([heading, rows]) => ({
    heading,
    options: rows.map(([option, row]) => ({ spelled: spellOption(option, row), meaning: row.meaning })),
  }));
  return { name, group, summary, usage: `sluice ${name} ${usage}`.trimEnd(), about, examples, groups, notes };
}

/**
 * Groups with their own heading that occur more than once.
 * @param {OptionGroup[]} groups
 */
function inCommon(groups) {
  const repeated = groups.filter((group, index) => groups.findIndex((other) => areSame(group, other)) < index);
  return repeated.filter(
    (group, index) => group.heading !== 'Options' && repeated.findIndex((other) => areSame(group, other)) === index,
  );
}

/**
 * @param {OptionGroup} one
 * @param {OptionGroup} other
 */
function areSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Splits a text into what a user types and the prose around it.
 * @param {string} text
 */
export function pieces(text) {
  const typed = [
    /"(?<line>sluice [^"]+)"/, // a command line, without its quotes
    /(?<![\w-])--?[A-Za-z][\w-]*(?: (?:"[^"]*"|\d+\b|[A-Z]+\b))?/, // an option, with its value
    /\b[A-Z]+_[A-Z\d_]+\b/, // a variable
    /\{"[^}]*\}/, // JSON
    /\b(?:wss?|unix|https?):\/\/(?:[^\s,;]*[^\s,;.])?/, // an address
  ];
  /** @type {{ kind: 'prose' | 'typed', text: string }[]} */
  const found = [];
  let end = 0;
  for (const match of text.matchAll(new RegExp(typed.map(({ source }) => source).join('|'), 'g'))) {
    if (match.index > end) found.push({ kind: 'prose', text: text.slice(end, match.index) });
    found.push({ kind: 'typed', text: match.groups?.['line'] ?? match[0] });
    end = match.index + match[0].length;
  }
  return end < text.length ? [...found, { kind: 'prose', text: text.slice(end) }] : found;
}

const tagline = 'run commands, on pipes or in a real terminal, here or on a server, and leave nothing behind';

const introduction = [
  '"sluice exec" needs no server: it runs a command on this machine, and however Sluice ends, it leaves nothing of the command ' +
    'behind.',
  'With -d the command runs on a background server instead, one per user, which is started when it is first needed and ends when it ' +
    'has been idle for a while. The commands that inspect and control processes find it automatically; "sluice serve --stop" ends it ' +
    'and all its processes.',
  'To use another server, name it with --connect or SLUICE_URL. Processes there survive a lost connection, and several clients can ' +
    'attach to them. With --via a server is launched through another command, such as ssh, and ends with this one.',
  'An option takes its value from the next argument or after an equals sign. Times are 500ms, 30s, 5m or 1h, or seconds without a ' +
    'unit; sizes are in bytes, or have KiB, MiB or GiB. Two dashes alone end the options.',
  '"sluice --help" lists the commands, "sluice help COMMAND" explains one, "sluice --version" prints the version.',
];

/** @type {Row[]} */
const exitStatus = [
  ['0', 'Success.'],
  ['1', 'kill: one of the processes had already ended; doctor: a check failed.'],
  [String(timedOut), 'The time limit of --timeout or --idle-timeout expired.'],
  [String(ownFailure), 'Sluice itself failed: wrong usage, a server lost or refusing, or an error on stdin or stdout.'],
  [String(failureStatus('notExecutable')), 'The program cannot be executed.'],
  [String(failureStatus('programNotFound')), 'The program does not exist.'],
  ['128+N', 'Signal N ended the command.'],
  [String(stdoutGone), 'The reader of stdout has gone away.'],
  ['other', 'The command’s own status, which exec, attach and wait pass on.'],
];

/** @type {Row[]} */
const environment = [
  ['SLUICE_URL', 'The server to use if --connect is not given.'],
  ['SLUICE_TOKEN', 'The token to present to that server if --token-file is not given.'],
  ['SLUICE_CA', 'The file with the certificate authorities to trust for a wss:// server if --ca is not given.'],
  [
    'SLUICE_...',
    `One for each option of serve, such as ${envNameOf('max-connections')} for --max-connections; each option names its variable.`,
  ],
  ['NO_COLOR', 'Set to any value to disable colours.'],
  ['XDG_RUNTIME_DIR', 'Where the background server has its folder.'],
];

/** @type {Row[]} */
const files = [
  ['$XDG_RUNTIME_DIR/sluice/socket', 'The socket of the background server.'],
  ['$XDG_RUNTIME_DIR/sluice/serve.log', 'Its log.'],
  [
    '/tmp/sluice-UID',
    'The folder for both if XDG_RUNTIME_DIR is not set or does not belong to the user; in the system’s folder for temporary files.',
  ],
];
