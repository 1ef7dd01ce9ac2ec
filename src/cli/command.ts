// What a command can be told, as data: parsing, help, man page and completion are derived from it. Knows no command.

import { closestName } from './closest-name.js';

/**
 * `switch` is on when given; `toggle` can be said either way, as in --inherit-env and --no-inherit-env; `list` may be given
 * several times; `duration` is 500ms, 30s, 5m or 1h, plain numbers are seconds; `size` is in bytes or has KiB, MiB or GiB;
 * `choice` is one of `choices`.
 */
export interface Option {
  readonly kind: 'switch' | 'toggle' | 'text' | 'list' | 'duration' | 'size' | 'number' | 'choice';
  /** One letter. */
  readonly short?: string;
  /** What stands for the value in the help. */
  readonly placeholder?: string;
  readonly choices?: readonly string[];
  readonly meaning: string;
  /** Values that also count when they stand alone after a dash, as 9 in `kill -9`. */
  readonly alone?: RegExp;
  /** What other programs call it, with its dashes: the error for such a word names this option. */
  readonly otherNames?: readonly string[];
  /** The heading it stands under in the help; "Options" when absent. */
  readonly group?: string;
}

/** By name without dashes, in the order of the help. */
export type Options = Readonly<Record<string, Option>>;

interface Values {
  readonly switch: boolean;
  readonly toggle: boolean | undefined;
  readonly text: string | undefined;
  readonly list: readonly string[];
  /** In milliseconds. */
  readonly duration: number | undefined;
  /** In bytes. */
  readonly size: number | undefined;
  readonly number: number | undefined;
}

export type Flags<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends { readonly kind: 'choice'; readonly choices: readonly (infer Choice)[] }
    ? Choice | undefined
    : O[Name]['kind'] extends keyof Values
      ? Values[O[Name]['kind']]
      : never;
};

/** One word of the command line, for commands where their order matters. */
export type Word =
  | { readonly kind: 'help' }
  /** Two dashes: what follows are operands only. */
  | { readonly kind: 'separator' }
  | { readonly kind: 'operand'; readonly text: string }
  | { readonly kind: 'option'; readonly name: string; readonly text: string };

export interface Input<O extends Options> {
  readonly flags: Flags<O>;
  readonly operands: readonly string[];
  /** Everything in the order it was given. */
  readonly words: readonly Word[];
}

export interface Example {
  readonly line: string;
  readonly meaning: string;
}

/** What help, man page and completion tell of a command. */
export interface Manual {
  readonly name: string;
  /** What follows the name, as in `[OPTIONS] [--] COMMAND [ARG...]`. */
  readonly usage: string;
  readonly about: string;
  readonly examples: readonly Example[];
  readonly options: Options;
  /** Paragraphs after the options. */
  readonly notes?: readonly string[];
  /** What the operands are, so that a shell can complete them. */
  readonly operands: 'none' | 'processes' | 'command' | 'commands' | 'shells' | 'actions';
}

export interface Command {
  readonly manual: Manual;
  /** Takes what `readWords` made of its arguments and gives the exit status. */
  execute(words: readonly Word[]): Promise<number>;
}

/** The command line is not one that Sluice understands. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function defineCommand<const O extends Options>(
  manual: Manual & { readonly options: O },
  run: (input: Input<O>) => Promise<number>,
): Command {
  return { manual, execute: async (words) => run(inputOf(manual, words)) };
}

function inputOf<O extends Options>(manual: Manual & { readonly options: O }, words: readonly Word[]): Input<O> {
  const given = new Map<string, string[]>();
  for (const word of words) {
    if (word.kind === 'option') given.set(word.name, [...(given.get(word.name) ?? []), word.text]);
  }
  const flags = Object.entries(manual.options).map(([name, option]) => [name, valueOf(name, option, given.get(name) ?? [])]);
  const operands = words.flatMap((word) => (word.kind === 'operand' ? [word.text] : []));
  if (manual.operands === 'none' && operands[0] !== undefined) {
    throw new UsageError(`${manual.name} takes no argument "${operands[0]}"; "sluice ${manual.name} --help" lists its options`);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one value for each option, of the type its kind says
  return { flags: Object.fromEntries(flags) as Flags<O>, operands, words };
}

/**
 * Options and operands in their order. What follows the first operand of `exec` is that command's own, never an option of ours.
 * Throws a UsageError that says in one line what is wrong, and what would be right.
 */
export function readWords(manual: Pick<Manual, 'name' | 'options' | 'operands'>, args: readonly string[]): Word[] {
  const words: Word[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--' || (manual.operands === 'command' && !isOption(arg))) {
      const separator: Word[] = arg === '--' ? [{ kind: 'separator' }] : [];
      const operands = arg === '--' ? rest : [arg, ...rest];
      return [...words, ...separator, ...operands.map((text): Word => ({ kind: 'operand', text }))];
    }
    if (arg === '--help' || arg === '-h') return [{ kind: 'help' }];
    if (!isOption(arg)) words.push({ kind: 'operand', text: arg });
    else if (arg.startsWith('--')) words.push(readLong(manual, arg, rest));
    else words.push(...(readAlone(manual, arg) ?? readShort(manual, arg, rest)));
  }
  return words;
}

/** A lone dash is an operand everywhere else too. */
function isOption(arg: string): boolean {
  return arg.startsWith('-') && arg !== '-';
}

function readLong({ name: command, options }: Pick<Manual, 'name' | 'options'>, arg: string, rest: string[]): Word {
  const [, spelled = '', inline] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
  const negated = spelled.replace(/^no-/, '');
  if (negated !== spelled && options[negated]?.kind === 'toggle') {
    if (inline !== undefined) throw takesNoValue(`--${spelled}`, inline, negated);
    return { kind: 'option', name: negated, text: 'false' };
  }
  const option = Object.hasOwn(options, spelled) ? options[spelled] : undefined;
  if (option === undefined) throw unknownOption(command, `--${spelled}`, options);
  return { kind: 'option', name: spelled, text: readValue({ spelled: `--${spelled}`, option, inline }, rest) };
}

/** `-9` is `--signal 9` where the option says so. */
function readAlone({ options }: Pick<Manual, 'options'>, arg: string): Word[] | undefined {
  const text = arg.slice(1);
  const found = Object.entries(options).find(([, { alone }]) => alone?.test(text));
  return found === undefined ? undefined : [{ kind: 'option', name: found[0], text }];
}

/** `-dt` is `-d -t`; `-eA=1` is `-e A=1`. */
function readShort({ name: command, options }: Pick<Manual, 'name' | 'options'>, arg: string, rest: string[]): Word[] {
  const words: Word[] = [];
  for (let at = 1; at < arg.length; at += 1) {
    const letter = arg.charAt(at);
    const found = Object.entries(options).find(([, { short }]) => short === letter);
    if (found === undefined) throw unknownOption(command, `-${letter}`, options);
    const [name, option] = found;
    if (option.kind === 'switch' || option.kind === 'toggle') {
      words.push({ kind: 'option', name, text: 'true' });
      continue;
    }
    const inline = at + 1 < arg.length ? arg.slice(at + 1) : undefined;
    words.push({ kind: 'option', name, text: readValue({ spelled: `-${letter}`, option, inline }, rest) });
    break;
  }
  return words;
}

interface Given {
  readonly spelled: string;
  readonly option: Option;
  /** What stood after "=", or after the letter. */
  readonly inline: string | undefined;
}

function readValue({ spelled, option, inline }: Given, rest: string[]): string {
  if (option.kind === 'switch' || option.kind === 'toggle') {
    if (inline !== undefined) throw takesNoValue(spelled, inline, option.kind === 'toggle' ? spelled.slice(2) : undefined);
    return 'true';
  }
  const value = inline ?? rest[0];
  // "--name --tty" is a forgotten value; a value that begins with a dash can be given with "=".
  if (value === undefined || (inline === undefined && isOption(value))) {
    throw new UsageError(`${spelled} needs a value, as in ${spelled} ${placeholderOf(option)}`);
  }
  if (inline === undefined) rest.shift();
  return value;
}

function takesNoValue(spelled: string, inline: string, toggle: string | undefined): UsageError {
  const forms = toggle === undefined ? '' : `; use --${toggle} or --no-${toggle}`;
  return new UsageError(`${spelled} takes no value, got "${inline}"${forms}`);
}

function unknownOption(command: string, spelled: string, options: Options): UsageError {
  const same = Object.entries(options).find(([, { otherNames = [] }]) => otherNames.includes(spelled));
  const nearest = same === undefined ? closestName(spelled, spellings(options)) : `--${same[0]}`;
  const hint = nearest === undefined ? `"sluice ${command} --help" lists all` : `did you mean ${nearest}?`;
  return new UsageError(`unknown option "${spelled}"; ${hint}`);
}

/** Every long spelling there is. */
export function spellings(options: Options): string[] {
  return Object.entries(options).flatMap(([name, { kind }]) =>
    kind === 'toggle' ? [`--${name}`, `--no-${name}`] : [`--${name}`],
  );
}

export function placeholderOf({ placeholder, choices }: Option): string {
  return placeholder ?? choices?.join('|') ?? 'VALUE';
}

function valueOf(name: string, { kind, choices = [] }: Option, texts: readonly string[]): Values[keyof Values] {
  const last = texts.at(-1);
  switch (kind) {
    case 'switch':
      return last !== undefined;
    case 'toggle':
      return last === undefined ? undefined : last === 'true';
    case 'list':
      return texts;
    case 'text':
      return last;
    case 'duration':
      return last === undefined ? undefined : readDuration(`--${name}`, last);
    case 'size':
      return last === undefined ? undefined : readSize(`--${name}`, last);
    case 'number':
      return last === undefined ? undefined : readNumber(`--${name}`, last);
    case 'choice':
      if (last === undefined || choices.includes(last)) return last;
      throw new UsageError(`--${name} must be one of ${choices.join(', ')}, got "${last}"`);
  }
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The longest delay a Node timer takes: 24.8 days. */
export const longestMs = 2 ** 31 - 1;

function readDuration(label: string, text: string): number {
  const { digits, unit = 's' } = /^(?<digits>\d+(?:\.\d+)?)(?<unit>ms|s|m|h|d)?$/.exec(text)?.groups ?? {};
  const factor = unit === 'ms' || unit === 's' || unit === 'm' || unit === 'h' || unit === 'd' ? unitMs[unit] : Number.NaN;
  const ms = Math.round(Number(digits) * factor);
  if (ms >= 0 && ms <= longestMs) return ms;
  throw new UsageError(`${label} must be a time such as 500ms, 30s, 5m or 1h, at most 24 days, got "${text}"`);
}

function readSize(label: string, text: string): number {
  const { digits, unit } = /^(?<digits>\d{1,12})(?<unit>[KMG]iB)?$/.exec(text)?.groups ?? {};
  if (digits !== undefined) return Number(digits) * 1024 ** ['', 'KiB', 'MiB', 'GiB'].indexOf(unit ?? '');
  throw new UsageError(`${label} must be a number of bytes, or one with KiB, MiB or GiB, got "${text}"`);
}

function readNumber(label: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`${label} must be a whole number, got "${text}"`);
}
