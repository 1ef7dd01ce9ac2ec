// Describes a command's options as data; parsing, help, man page and completion are derived from it. Knows no particular command.

/**
 * `switch` is on when given; `toggle` can be turned on or off, as in --inherit-env and --no-inherit-env; `list` may be given
 * several times; `duration` is 500ms, 30s, 5m or 1h, plain numbers are seconds; `size` is in bytes or has KiB, MiB or GiB;
 * `choice` is one of `choices`.
 */
export interface Option {
  readonly kind: 'switch' | 'toggle' | 'text' | 'list' | 'duration' | 'size' | 'number' | 'choice';
  /** One letter. */
  readonly short?: string;
  /** Stands for the value in the help. */
  readonly placeholder?: string;
  readonly choices?: readonly string[];
  /** The smallest and the largest value of a number or a size. */
  readonly range?: readonly [least: number, most: number];
  /** The value when the option is not given, written as a user would write it; `on` or `off` for a toggle. */
  readonly default?: string;
  readonly meaning: string;
  /** Values that may directly follow a dash, without the option's name, as 9 in `kill -9`. */
  readonly alone?: RegExp;
  /** Names that other programs use for it, with their dashes: the error for such a name suggests this option. */
  readonly otherNames?: readonly string[];
  /** Its heading in the help; "Options" when absent. */
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

type Value<O extends Option> = O extends { readonly kind: 'choice'; readonly choices: readonly (infer Choice)[] }
  ? Choice | undefined
  : O['kind'] extends keyof Values
    ? Values[O['kind']]
    : never;

export type Flags<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends { readonly default: string } ? NonNullable<Value<O[Name]>> : Value<O[Name]>;
};

/** What was given for an option, on the command line or in another source that the command reads. */
export interface Setting {
  /** The option as the user knows it, as in `--name`. */
  readonly label: string;
  /** One text for each time it was given. */
  readonly texts: readonly string[];
}

/** By the option's name without dashes. */
export type Settings = ReadonlyMap<string, Setting>;

/** One word of the command line, for commands where the order of words matters. */
export type Word =
  | { readonly kind: 'help' }
  /** `--`: only operands follow. */
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

/** The first operand is one of these words. */
export interface Actions {
  readonly actions: readonly string[];
}

/** What help, man page and completion show about a command. */
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
  readonly operands: 'none' | 'addresses' | 'processes' | 'command' | 'commands' | 'shells' | 'files' | Actions;
}

export interface Command {
  readonly manual: Manual;
  /** Takes the result of `readWords` and returns the exit status. */
  execute(words: readonly Word[]): Promise<number>;
}

/** The command line is invalid. */
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
  const flags = readFlags(manual.options, settingsIn(words));
  const operands = words.flatMap((word) => (word.kind === 'operand' ? [word.text] : []));
  if (manual.operands === 'none' && operands[0] !== undefined) {
    throw new UsageError(`${manual.name} takes no argument "${operands[0]}"; "sluice ${manual.name} --help" lists its options`);
  }
  return { flags, operands, words };
}

/** The options given on the command line. */
export function settingsIn(words: readonly Word[]): Map<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const word of words) {
    if (word.kind !== 'option') continue;
    const earlier = settings.get(word.name)?.texts ?? [];
    settings.set(word.name, { label: `--${word.name}`, texts: [...earlier, word.text] });
  }
  return settings;
}

/** The value of every option. Throws a UsageError that names the setting that cannot be read. */
export function readFlags<O extends Options>(options: O, settings: Settings): Flags<O> {
  const flags = Object.entries(options).map(([name, option]) => [name, valueOf(option, settings.get(name))]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one value for each option, of the type that its kind implies
  return Object.fromEntries(flags) as Flags<O>;
}

/** Every long spelling of these options. */
export function spellings(options: Options): string[] {
  return Object.entries(options).flatMap(([name, { kind }]) =>
    kind === 'toggle' ? [`--${name}`, `--no-${name}`] : [`--${name}`],
  );
}

export function placeholderOf({ placeholder, choices }: Option): string {
  return placeholder ?? choices?.join('|') ?? 'VALUE';
}

function valueOf(option: Option, setting: Setting | undefined): Values[keyof Values] {
  const { kind, choices = [], default: standard } = option;
  if (kind === 'toggle' && setting === undefined) return standard === undefined ? undefined : standard === 'on';
  const given = setting ?? { label: 'the default', texts: standard === undefined ? [] : [standard] };
  const last = given.texts.at(-1);
  if (kind === 'list') return given.texts;
  if (kind === 'switch') return last !== undefined;
  if (last === undefined) return undefined;
  switch (kind) {
    case 'toggle':
      return readToggle(given.label, last);
    case 'text':
      return last;
    case 'duration':
      return readDuration(given.label, last);
    case 'size':
    case 'number':
      return readNumber(given, option);
    case 'choice':
      if (choices.includes(last)) return last;
      throw new UsageError(`${given.label} must be one of ${choices.join(', ')}, got "${last}"`);
  }
}

function readToggle(label: string, text: string): boolean {
  const word = text.toLowerCase();
  if (['true', '1'].includes(word)) return true;
  if (['false', '0'].includes(word)) return false;
  throw new UsageError(`${label} must be true or false, got "${text}"`);
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The longest time that an option takes: 24 days. */
export const longestMs = 24 * unitMs.d;

function readDuration(label: string, text: string): number {
  const { digits, unit = 's' } = /^(?<digits>\d+(?:\.\d+)?)(?<unit>ms|s|m|h|d)?$/.exec(text)?.groups ?? {};
  const factor = unit === 'ms' || unit === 's' || unit === 'm' || unit === 'h' || unit === 'd' ? unitMs[unit] : Number.NaN;
  const ms = Math.round(Number(digits) * factor);
  if (ms >= 0 && ms <= longestMs) return ms;
  throw new UsageError(`${label} must be a time such as 500ms, 30s, 5m or 1h, at most 24 days, got "${text}"`);
}

/** Reads the last text as a whole number; a size may have a unit. */
export function readNumber({ label, texts }: Setting, { kind, range }: Pick<Option, 'kind' | 'range'>): number {
  const text = texts.at(-1)?.trim() ?? '';
  const { digits, unit = '' } = /^(?<digits>\d+)\s*(?<unit>[KMG]iB)?$/.exec(text)?.groups ?? {};
  const value = unit === '' || kind === 'size' ? Number(digits) * 1024 ** ['', 'KiB', 'MiB', 'GiB'].indexOf(unit) : Number.NaN;
  const [least, most] = range ?? [0, Number.MAX_SAFE_INTEGER];
  if (value >= least && value <= most) return value;
  const units = kind === 'size' ? ', or one with KiB, MiB or GiB' : '';
  const noun = kind === 'size' && range === undefined ? 'a number of bytes' : 'a whole number';
  const bounds = range === undefined ? '' : `${units === '' ? '' : ','} from ${least} to ${most}`;
  throw new UsageError(`${label} must be ${noun}${units}${bounds}, got "${text}"`);
}
