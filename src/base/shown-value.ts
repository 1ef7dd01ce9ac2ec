// Formats a value for an error text: recognisable, escaped, and short however large the value is.

/** Characters shown of a string: enough to recognise it, too few to flood a log. */
const shownCharacters = 60;

/** Items or members shown of a list or object, and the depth to which it is shown. */
const shownItems = 3;
const shownDepth = 2;

/** Control, format and unassigned characters, lone surrogates and line separators: a terminal or log must not interpret them. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Longest text for a value, in characters. */
const longestShown = 400;

/** One line of at most 401 characters. */
export function shownValue(value: unknown): string {
  const text = shown(value, 0);
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`;
}

/** A string in quotes, truncated and escaped. */
export function shownText(text: string): string {
  const isCut = text.length > shownCharacters;
  const quoted = JSON.stringify(isCut ? `${text.slice(0, shownCharacters)}…` : text).replaceAll(unprintable, escaped);
  return isCut ? `${quoted} (${text.length} characters)` : quoted;
}

function shown(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return shownText(value);
    case 'undefined':
      return 'nothing';
    case 'bigint':
      return 'a bigint';
    case 'symbol':
    case 'function':
      return `a ${typeof value}`;
    case 'number':
    case 'boolean':
      return String(value);
    case 'object':
      return value === null ? 'null' : shownObject(value, depth);
  }
}

function shownObject(value: object, depth: number): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return shownList(value, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return `a ${shownText(value.constructor.name).slice(1, -1)}`;
  const entries = Object.entries(value);
  const members = entries.slice(0, depth < shownDepth ? shownItems : 0);
  const parts = members.map(([name, member]) => `${shownText(name)}: ${shown(member, depth + 1)}`);
  return `{${withRest(parts, entries.length)}}`;
}

function shownList(list: readonly unknown[], depth: number): string {
  const parts = list.slice(0, depth < shownDepth ? shownItems : 0).map((item) => shown(item, depth + 1));
  const text = `[${withRest(parts, list.length)}]`;
  return parts.length < list.length ? `${text} (${list.length} items)` : text;
}

function withRest(parts: readonly string[], count: number): string {
  return [...parts, ...(parts.length < count ? ['…'] : [])].join(', ');
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
