// What a shell must know about each command to complete it, derived from the manuals. Knows no particular shell.

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
  /** Every operand is of that kind, not only the first. */
  readonly isRepeatable: boolean;
}

/** Passed on to `sluice ps` when they are on the line, so that it lists the processes of that server. */
export const forwardedOptions = ['connect', 'token-file'] as const satisfies readonly (keyof typeof serverOptions)[];

/** Values to offer for options without `choices`. */
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

/** Options that can be given in place of a command. */
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

/** The first clause: in a list of candidates, each has one line. */
function inShort(meaning: string): string {
  return /^.*?(?=[.;]+(?:\s|$))/s.exec(meaning)?.[0] ?? meaning;
}
