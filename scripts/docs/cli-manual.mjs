// What there is to tell of the command line, as data: the manual of each command, and what is true of all of them. The man page and
// docs/cli.md are two ways to write it down.

import { commandGroups, commands } from '../../dist/cli/commands.js';
import { failureStatus, ownFailure, stdoutGone, timedOut } from '../../dist/cli/exit-status.js';
import { optionGroups, spellOption } from '../../dist/cli/help.js';
import { envNameOf } from '../../dist/cli/serve/options.js';

/** @import { CommandEntry } from '../../dist/cli/commands.js' */

/** @typedef {{ heading: string, options: { spelled: string, meaning: string }[] }} OptionGroup */
/** @typedef {Awaited<ReturnType<typeof cliManual>>['commands'][number]} DescribedCommand */
/** @typedef {readonly [name: string, meaning: string]} Row */

/**
 * Texts are plain; `pieces` finds what is typed in them. Commands come in the order of their groups. Options that several commands
 * have in common, such as those that name the server, are told once, in `commonGroups`.
 */
export async function cliManual() {
  const described = await Promise.all(commands.map(describe));
  const ordered = commandGroups.flatMap((group) => described.filter((command) => command.group === group));
  const commonGroups = inCommon(ordered.flatMap(({ groups }) => groups));
  /** @param {OptionGroup} group */
  const isCommon = (group) => commonGroups.some((common) => areSame(common, group));
  const told = ordered.map(({ groups, ...command }) => ({
    ...command,
    groups: groups.filter((group) => !isCommon(group)),
    commonHeadings: groups.filter(isCommon).map(({ heading }) => heading),
  }));
  return { tagline, introduction, commands: told, commonGroups, exitStatus, environment, files };
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
 * Groups with a heading of their own that are there more than once.
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
 * A text in pieces, those that are typed and those that are said.
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
  /** @type {{ kind: 'said' | 'typed', text: string }[]} */
  const found = [];
  let end = 0;
  for (const match of text.matchAll(new RegExp(typed.map(({ source }) => source).join('|'), 'g'))) {
    if (match.index > end) found.push({ kind: 'said', text: text.slice(end, match.index) });
    found.push({ kind: 'typed', text: match.groups?.['line'] ?? match[0] });
    end = match.index + match[0].length;
  }
  return end < text.length ? [...found, { kind: 'said', text: text.slice(end) }] : found;
}

const tagline = 'run commands, on pipes or in a real terminal, here or on a server, and leave nothing behind';

const introduction = [
  '"sluice exec" needs no server: it runs a command on this machine, and when Sluice ends, in whatever way, nothing of the command is ' +
    'left.',
  'With -d the command is left to a server in the background instead, one for each user, which is started when it is first needed ' +
    'and ends when nobody has needed it for a while. The commands that look at processes and steer them find it by themselves; ' +
    '"sluice serve --stop" ends it and all its processes.',
  'Any other server is named with --connect or SLUICE_URL. What runs there survives a lost connection, and can be joined from ' +
    'several places. With --via a server is launched through another command, such as ssh, and ends with this one.',
  'An option has its value in the next word or behind an equals sign. Times are 500ms, 30s, 5m or 1h, and seconds without a unit; ' +
    'sizes are in bytes, or have KiB, MiB or GiB. Two dashes alone end the options.',
  '"sluice --help" lists the commands, "sluice help COMMAND" explains one, "sluice --version" prints the version.',
];

/** @type {Row[]} */
const exitStatus = [
  ['0', 'What was asked for is done.'],
  ['1', 'kill: one of the processes had ended before; doctor: something is broken.'],
  [String(timedOut), 'The time that --timeout or --idle-timeout gives was up.'],
  [String(ownFailure), 'Sluice itself failed: it was used wrongly, a server is lost or refuses, or stdin or stdout fails.'],
  [String(failureStatus('notExecutable')), 'The program cannot be executed.'],
  [String(failureStatus('programNotFound')), 'The program does not exist.'],
  ['128+N', 'Signal N ended the command.'],
  [String(stdoutGone), 'Our stdout has lost its reader.'],
  ['other', 'The command’s own, which exec, attach and wait pass on.'],
];

/** @type {Row[]} */
const environment = [
  ['SLUICE_URL', 'The server to use where --connect names none.'],
  ['SLUICE_TOKEN', 'The token to present to that server where --token-file names none.'],
  ['SLUICE_CA', 'The file with the authorities to trust for a wss:// server where --ca names none.'],
  [
    'SLUICE_...',
    `One for each option of serve, as ${envNameOf('max-connections')} for --max-connections; each option names its own.`,
  ],
  ['NO_COLOR', 'Set to anything, there are no colours.'],
  ['XDG_RUNTIME_DIR', 'Where the server in the background has its folder.'],
];

/** @type {Row[]} */
const files = [
  ['$XDG_RUNTIME_DIR/sluice/socket', 'Where the server in the background listens.'],
  ['$XDG_RUNTIME_DIR/sluice/serve.log', 'What it has to say.'],
  [
    '/tmp/sluice-UID',
    'The folder for both where XDG_RUNTIME_DIR is not set, or is not the user’s own; in the system’s folder for temporary files.',
  ],
];
