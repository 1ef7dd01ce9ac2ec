// Almost valid messages: valid ones with a change to their values or to their text.

import type { Random } from '../support/random.js';

/** Values that JSON readers have stumbled over. */
const strangeValues: readonly unknown[] = [
  null,
  true,
  -1,
  -0,
  0.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 53) - 2,
  1e308,
  5e-324,
  '',
  '\ud800',
  '\udc00\ud800',
  '\u0000',
  '\ufeff',
  '\u2028',
  '__proto__',
  'x'.repeat(5_000),
  [],
  {},
  [[[]]],
  { ['__proto__']: { isAdmin: true } },
  { toString: 1, constructor: null },
];

/** Texts for a value that JSON.stringify would never write. */
const strangeTexts = [
  '1e999',
  '-1e999',
  '-0',
  '1E400',
  '0.1e-999',
  '9007199254740993',
  '1'.repeat(400),
  '"\\ud800"',
  '"\\u0000"',
  '1.0',
  '1e0',
];

/** Texts that are not JSON. */
const brokenTexts = ['NaN', 'undefined', "'x'", '01', '+1', '.5', '0x10', '"\\x"', '"\u0001"', '{"a":1,}', '[,]', '/**/1', ''];

/** Replaces, adds or removes one member somewhere inside. */
export function withStrangeValue(message: Record<string, unknown>, random: Random): string {
  const copy = structuredClone(message);
  const places = placesIn(copy);
  const { holder, key } = random.pick(places);
  switch (random.below(4)) {
    case 0:
      delete holder[key];
      break;
    case 1:
      Object.defineProperty(holder, `${key}${random.pick(['', ' ', 'x', '\ud800'])}`, {
        value: random.pick(strangeValues),
        enumerable: true,
        configurable: true,
        writable: true,
      });
      break;
    default:
      holder[key] = random.pick(strangeValues);
  }
  return JSON.stringify(copy);
}

/** Replaces one value with a text. */
export function withStrangeText(message: Record<string, unknown>, random: Random): string {
  const copy = structuredClone(message);
  const { holder, key } = random.pick(placesIn(copy));
  const mark = 'the-place-of-the-text';
  holder[key] = mark;
  return JSON.stringify(copy).replace(`"${mark}"`, () => random.pick(random.chance(0.5) ? strangeTexts : brokenTexts));
}

/** The same member twice; both readers must agree on which one counts. */
export function withDuplicateKey(message: Record<string, unknown>, random: Random): string {
  const text = JSON.stringify(message);
  const [name, value] = random.pick(
    Object.entries<unknown>({ ...message, ...random.pick([{ id: 'twice' }, { method: 'nothing' }, { params: 1 }]) }),
  );
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return random.chance(0.5) ? `{${member},${text.slice(1)}` : `${text.slice(0, -1)},${member}}`;
}

/** Bytes changed, cut, doubled or inserted. Line feeds are removed, so that it stays one message. */
export function withBrokenBytes(text: string, random: Random): Buffer {
  const bytes = Buffer.from(text);
  const at = random.below(bytes.length);
  switch (random.below(5)) {
    case 0:
      return oneLine(bytes.subarray(0, at));
    case 1:
      return oneLine(Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(8)), bytes.subarray(at)]));
    case 2:
      return oneLine(Buffer.concat([bytes.subarray(0, at), bytes.subarray(random.below(bytes.length))]));
    case 3:
      return oneLine(Buffer.concat([bytes, bytes.subarray(at)]));
    default: {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
      return oneLine(changed);
    }
  }
}

/** Deeper or wider than any message has reason to be. Some stay below the limits. */
export function immense(id: string, random: Random): string {
  const size = random.pick([10, 60, 63, 65, 100, 5_000, 100_000, 300_000]);
  const params = random.pick([
    () => '['.repeat(size) + ']'.repeat(size),
    () => '{"a":'.repeat(size) + '0' + '}'.repeat(size),
    () => `[${'0,'.repeat(size)}0]`,
    () => `[${'{},'.repeat(size)}0]`,
    () => `{${Array.from({ length: Math.min(size, 20_000) }, (_, index) => `"k${index}":${index}`).join(',')}}`,
    () => JSON.stringify('x'.repeat(size)),
    () => '['.repeat(size),
    () => '1'.repeat(size),
  ])();
  return `{"id":${JSON.stringify(id)},"method":"environment/status","params":${params}}`;
}

export function oneLine(bytes: Buffer): Buffer {
  return Buffer.from(bytes.filter((byte) => byte !== 0x0a && byte !== 0x0d));
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}
