// `sluice help` and --help: explains one command or lists all, from the same manuals as the man page. Examples come first.

import { type Manual, type Option, type Options, UsageError, defineCommand, placeholderOf } from './command.js';
import { type CommandEntry, commandGroups, commands, findCommand } from './commands.js';
import { print } from './own-output.js';

/** Columns that every terminal is assumed to have. */
const width = 100;

/** Longest example that leaves room for its meaning next to it. */
const exampleColumns = 60;

export const help = defineCommand(
  {
    name: 'help',
    usage: '[COMMAND]',
    about: 'Explains a command, or lists all commands.',
    examples: [{ line: 'sluice help exec', meaning: 'the same as sluice exec --help' }],
    options: {},
    operands: 'commands',
  },
  async ({ operands: [name, other] }) => {
    if (other !== undefined) throw new UsageError('help explains one command at a time');
    await print(name === undefined ? overview(commands) : commandHelp((await findCommand(name).load()).manual));
    return 0;
  },
);

export function commandHelp({ name, usage, about, examples, options, notes = [] }: Manual): string {
  const sections = optionGroups(options).map(([heading, rows]) => [heading, ...rows.flatMap(describeOption)].join('\n'));
  return `${[
    `Usage: sluice ${name} ${usage}`.trimEnd(),
    fill(about, 0),
    examplesText(examples),
    ...sections,
    ...notes.map((note) => fill(note, 0)),
  ].join('\n\n')}\n`;
}

export function overview(entries: readonly CommandEntry[]): string {
  const widest = Math.max(...entries.map(({ name }) => name.length));
  const groups = commandGroups.map((group) => {
    const rows = entries.filter((entry) => entry.group === group);
    return [group, ...rows.map(({ name, summary }) => `  ${name.padEnd(widest)}  ${summary}`)].join('\n');
  });
  return `${[
    'Run commands, on pipes or in a real terminal, here or on a server, and leave nothing behind.',
    examplesText([
      { line: 'sluice exec -- make test', meaning: 'run a command here' },
      { line: 'sluice exec -t -- bash', meaning: 'in a real terminal' },
      { line: 'sluice exec -d --name web -- npm start', meaning: 'keep it running after this shell exits' },
      { line: 'sluice logs -f web', meaning: 'see what it prints' },
      { line: 'sluice kill web', meaning: 'end it and everything it started' },
    ]),
    ...groups,
    '"sluice COMMAND --help" explains a command. --version prints the version.',
  ].join('\n\n')}\n`;
}

/** Options under their headings, in order of appearance. */
export function optionGroups(options: Options): [string, [string, Option][]][] {
  const groups = new Map<string, [string, Option][]>();
  for (const [name, option] of Object.entries(options)) {
    const heading = option.group ?? 'Options';
    groups.set(heading, [...(groups.get(heading) ?? []), [name, option]]);
  }
  return [...groups];
}

/** `-e, --env K=V`; `--[no-]inherit-env`. */
export function spellOption(name: string, option: Option): string {
  const long = option.kind === 'toggle' ? `--[no-]${name}` : `--${name}`;
  const short = option.short === undefined ? '' : `-${option.short}, `;
  return `${short}${long}${option.kind === 'switch' || option.kind === 'toggle' ? '' : ` ${placeholderOf(option)}`}`;
}

function describeOption([name, option]: [string, Option]): string[] {
  const spelled = `  ${spellOption(name, option)}`;
  const column = 30;
  const [first = '', ...rest] = fill(option.meaning, column).split('\n');
  if (spelled.length + 2 > column) return [spelled, first, ...rest];
  return [spelled.padEnd(column) + first.trimStart(), ...rest];
}

/** Puts meanings in a second column, or below a line that is too long for that. */
function examplesText(examples: Manual['examples']): string {
  const longest = Math.max(...examples.map(({ line }) => line.length).filter((length) => length <= exampleColumns), 0);
  return examples
    .flatMap(({ line, meaning }) => {
      const column = `${' '.repeat(longest + 5)}${meaning}`;
      return line.length > longest ? [`  ${line}`, column] : [`  ${line.padEnd(longest)}   ${meaning}`];
    })
    .join('\n');
}

/** Wraps words into indented lines of at most `width`. */
function fill(text: string, indent: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(' '.repeat(indent) + word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join('\n');
}
