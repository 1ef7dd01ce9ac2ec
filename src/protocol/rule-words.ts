// Describes in words what a schema accepts, for error texts. Derived from the schema itself, so that every member has a description.

/** The parts of a valibot schema or action that the text is made from. Which members are present depends on the type. */
export interface Described {
  readonly type: string;
  readonly expects?: string | null;
  /** The schema itself, then its actions, such as a length or a range. */
  readonly pipe?: readonly Described[];
  readonly entries?: Readonly<Record<string, Described>>;
  readonly wrapped?: Described;
  readonly item?: Described;
  readonly value?: Described;
  readonly key?: unknown;
  readonly options?: readonly unknown[];
  readonly literal?: unknown;
  readonly requirement?: unknown;
  readonly message?: unknown;
  readonly metadata?: unknown;
}

/** For example, "an integer from 1 to 65535" or `"open" or "closed"`. */
export function ruleOf(schema: Described): string {
  const bare = unwrapped(schema);
  const demands = demandsOf(bare);
  switch (bare.type) {
    case 'string':
      return stringRule(demands);
    case 'number':
      return numberRule(demands);
    case 'boolean':
      return 'true or false';
    case 'literal':
      return JSON.stringify(bare.literal);
    case 'picklist':
      return either((bare.options ?? []).map((option) => JSON.stringify(option)));
    case 'union':
      return either((bare.options ?? []).filter(isDescribed).map(ruleOf));
    case 'array':
      return `a list of ${countRule(demands)}${pluralOf(bare.item)}`;
    case 'record':
      return bare.value?.type === 'unknown' ? 'an object' : `an object of ${pluralOf(bare.value)}`;
    case 'object':
      return objectRule(bare);
    case 'variant':
      return `an object like ${either((bare.options ?? []).filter(isDescribed).map(formOf))}`;
    case 'custom':
      return typeof bare.message === 'string' ? bare.message : 'another value';
    default:
      return bare.expects ?? 'another value'; // valibot's own description
  }
}

/** The schema of the member `key` of `holder`, a value that is checked against `schema`. */
export function memberOf(schema: Described, key: unknown, holder: unknown): Described | undefined {
  const bare = unwrapped(schema);
  const name = String(key);
  switch (bare.type) {
    case 'array':
      return bare.item;
    case 'record':
      return bare.value;
    case 'variant':
      return variantMember(bare, name, holder);
    default:
      return bare.entries?.[name];
  }
}

function variantMember(variant: Described, name: string, holder: unknown): Described | undefined {
  const options = (variant.options ?? []).filter(isDescribed);
  const discriminator = String(variant.key);
  const kinds = options.map((option) => option.entries?.[discriminator]?.literal);
  if (name === discriminator) return { type: 'picklist', options: kinds };
  const kind: unknown = typeof holder === 'object' && holder !== null ? Reflect.get(holder, discriminator) : undefined;
  return options[kinds.indexOf(kind)]?.entries?.[name];
}

function stringRule(demands: readonly Described[]): string {
  if (demands.some(({ metadata }) => isDescribedBytes(metadata))) return 'bytes, which are padded base64 on the wire';
  const [least, most] = [requirementOf(demands, 'min_length'), requirementOf(demands, 'max_length')];
  const form = demands.find(({ type }) => type === 'regex')?.message;
  return `a string${range(least, most, 'character')}${typeof form === 'string' ? `, ${form}` : ''}`;
}

function numberRule(demands: readonly Described[]): string {
  const isSafe = demands.some(({ type }) => type === 'safe_integer');
  const isWhole = isSafe || demands.some(({ type }) => type === 'integer');
  const least = requirementOf(demands, 'min_value');
  const most = requirementOf(demands, 'max_value') ?? (isSafe ? Number.MAX_SAFE_INTEGER : undefined);
  const noun = isWhole ? 'an integer' : 'a number';
  if (least !== undefined && most !== undefined) return `${noun} from ${least} to ${most}`;
  return least === undefined ? noun : `${noun} of ${least} or more`;
}

function countRule(demands: readonly Described[]): string {
  const [least, most] = [requirementOf(demands, 'min_length'), requirementOf(demands, 'max_length')];
  if (most !== undefined) return `at most ${most} `;
  return least === undefined ? '' : `${least} or more `;
}

function objectRule({ entries = {} }: Described): string {
  const required = Object.entries(entries).filter(([, entry]) => !isOptional(entry));
  return required.length === 0
    ? 'an object'
    : `an object with ${listed(
        required.map(([name]) => name),
        'and',
      )}`;
}

/** A variant as it would be written: `{kind: "pty", rows, cols}`. */
function formOf({ entries = {} }: Described): string {
  const required = Object.entries(entries).filter(([, entry]) => !isOptional(entry));
  const members = required.map(([name, { type, literal }]) =>
    type === 'literal' ? `${name}: ${JSON.stringify(literal)}` : name,
  );
  return `{${members.join(', ')}}`;
}

function pluralOf(item: Described | undefined): string {
  if (item === undefined) return 'values';
  const noun = { string: 'strings', number: 'numbers', boolean: 'booleans' }[unwrapped(item).type] ?? 'objects';
  return item.type === 'nullable' ? `${noun} or nulls` : noun;
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (most !== undefined) return least === undefined ? ` of at most ${most} ${unit}s` : ` of ${least} to ${most} ${unit}s`;
  return least === undefined ? '' : ` of ${least} or more ${unit}s`;
}

function either(texts: readonly string[]): string {
  return listed(texts, 'or');
}

function listed(texts: readonly string[], word: 'and' | 'or'): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} ${word} ${texts.at(-1)}`;
}

/** The schema inside optional, nullish and nullable. */
function unwrapped(schema: Described): Described {
  return schema.wrapped === undefined ? schema : unwrapped(schema.wrapped);
}

function isOptional({ type }: Described): boolean {
  return type === 'nullish' || type === 'optional';
}

/** The actions of a schema; a pipe may begin with another pipe. */
function demandsOf({ pipe = [] }: Described): readonly Described[] {
  const [first, ...rest] = pipe;
  return first === undefined ? [] : [...demandsOf(first), ...rest];
}

function requirementOf(demands: readonly Described[], type: string): number | undefined {
  const requirement = demands.find((demand) => demand.type === type)?.requirement;
  return typeof requirement === 'number' ? requirement : undefined;
}

function isDescribed(value: unknown): value is Described {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function isDescribedBytes(metadata: unknown): boolean {
  return typeof metadata === 'object' && metadata !== null && 'contentEncoding' in metadata;
}
