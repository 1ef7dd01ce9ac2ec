// What a shell must know of each command to complete it, derived from the manuals. Knows no shell.

import { constants } from 'node:os';
import { type Manual, type Option, placeholderOf, spellings } from './command.js';
import type { CommandEntry } from './commands.js';
import { keyNames } from './keys.js';
import type { serverOptions } from './server-options.js';

export const shells = ['bash', 'zsh', 'fish'] as const;

/** `text` can be anything, so nothing is offered for it. */
export type CompletedValue = { readonly placeholder: string } & (
  | { readonly kind: 'files' | 'folders' | 'text' }
  | { readonly kind: 'words'; readonly words: readonly string[] }
);

export interface CompletedOption {
  /** `--env` and `-e`; `--inherit-env` and `--no-inherit-env`. */
  readonly spellings: readonly string[];
  readonly meaning: string;
  readonly value: CompletedValue | undefined;
  readonly isRepeatable: boolean;
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  readonly operands: Manual['operands'];
  /** Every operand is of that kind, not the first one alone. */
  readonly isRepeatable: boolean;
}

/** Given on the line, they are given to `sluice ps` too, so that the names are those of that server. */
export const forwardedOptions = ['connect', 'token-file'] as const satisfies readonly (keyof typeof serverOptions)[];

/** Options that name what they take. */
const wordsOf: Readonly<Record<string, readonly string[]>> = {
  key: keyNames,
  signal: Object.keys(constants.signals).map((name) => name.replace(/^SIG/, '')),
};

const help: CompletedOption = {
  spellings: ['--help', '-h'],
  meaning: 'Explain the command',
  value: undefined,
  isRepeatable: false,
};

/** What can stand in place of a command. */
export const ownOptions: readonly CompletedOption[] = [
  { ...help, meaning: 'List the commands' },
  { ...help, spellings: ['--version', '-V'], meaning: 'Print the version' },
];

export async function completedCommands(entries: readonly CommandEntry[]): Promise<CompletedCommand[]> {
  return Promise.all(
    entries.map(async ({ name, summary, load }) => {
      const { options, operands, usage } = (await load()).manual;
      const completed = Object.entries(options).map(([option, row]) => completedOption(option, row));
      return { name, summary, options: [...completed, help], operands, isRepeatable: /\bNAME\.\.\./.test(usage) };
    }),
  );
}

function completedOption(name: string, option: Option): CompletedOption {
  return {
    spellings: [...spellings({ [name]: option }), ...(option.short === undefined ? [] : [`-${option.short}`])],
    meaning: inShort(option.meaning),
    value: completedValue(name, option),
    isRepeatable: option.kind === 'list',
  };
}

function completedValue(name: string, option: Option): CompletedValue | undefined {
  if (option.kind === 'switch' || option.kind === 'toggle') return undefined;
  const placeholder = placeholderOf(option);
  const words = option.choices ?? (Object.hasOwn(wordsOf, name) ? wordsOf[name] : undefined);
  if (words !== undefined) return { kind: 'words', words, placeholder };
  return { kind: placeholder === 'FILE' ? 'files' : placeholder === 'FOLDER' ? 'folders' : 'text', placeholder };
}

/** The first statement: a list of candidates has a line for each. */
function inShort(meaning: string): string {
  return /^.*?(?=[.;]+(?:\s|$))/s.exec(meaning)?.[0] ?? meaning;
}
