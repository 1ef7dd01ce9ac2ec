// For every member of every request, a wrong value is refused with the member's path, the rule in words, and the value. The members and
// their rules are read from the published JSON Schema, which does not contain the words.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { isExecError } from '#src/protocol/index.js';
import { isMethod } from '#src/protocol/services.js';
import { readParams } from '#src/protocol/read-params.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly contentEncoding?: string;
}

const { $defs } = JSON.parse(readFileSync(new URL('../../dist/protocol/schema.json', import.meta.url), 'utf8')) as {
  readonly $defs: Readonly<Record<string, Schema>>;
};

/** A wrong value, how an error shows it, and words that the rule must contain. */
interface Wrong {
  readonly value: unknown;
  readonly shown: string;
  readonly words: readonly string[];
}

/** A place in a message: its path in an error, its schema, and a function that makes a message with another value there. */
interface Place {
  readonly path: string;
  readonly schema: Schema;
  readonly messageWith: (value: unknown) => unknown;
}

/** Follows references and ignores null. */
function resolved(schema: Schema): Schema {
  if (schema.$ref !== undefined) return resolved($defs[schema.$ref.split('/').at(-1) ?? ''] ?? assert.fail(schema.$ref));
  const others = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  return others.length === 1 && others[0] !== undefined ? resolved(others[0]) : schema;
}

/** A minimal value that the schema accepts. */
function sampleOf(given: Schema): unknown {
  const schema = resolved(given);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.oneOf?.[0] !== undefined) return sampleOf(schema.oneOf[0]);
  switch (schema.type ?? 'any') {
    case 'string':
      return schema.contentEncoding === undefined ? 'x' : 'AAAA';
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items ?? {}));
    case 'object':
      return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]));
    default:
      return 'anything';
  }
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** The place itself and every place within it. */
function placesIn(place: Place): Place[] {
  const schema = resolved(place.schema);
  const variants = (schema.oneOf ?? [schema]).map(resolved);
  const members = variants.flatMap((variant) =>
    Object.entries(variant.properties ?? {}).flatMap(([name, member]) => {
      const holder = membersOf(sampleOf(variant));
      const path = place.path === 'params' ? name : `${place.path}.${name}`;
      const isDiscriminator = schema.oneOf !== undefined && member.const !== undefined;
      const described: Schema = isDiscriminator ? { enum: variants.map((each) => each.properties?.[name]?.const) } : member;
      return placesIn({ path, schema: described, messageWith: (value) => place.messageWith({ ...holder, [name]: value }) });
    }),
  );
  const { items, additionalProperties } = schema;
  const itemPlace = items && {
    path: `${place.path}[0]`,
    schema: items,
    messageWith: (value: unknown) => place.messageWith([value]),
  };
  const named = additionalProperties && {
    path: `${place.path}.SOME`,
    schema: additionalProperties,
    messageWith: (value: unknown) => place.messageWith({ SOME: value }),
  };
  return [place, ...members, ...(itemPlace ? placesIn(itemPlace) : []), ...(named ? placesIn(named) : [])];
}

function long(length: number): Wrong['value'] {
  return 'x'.repeat(length);
}

function wrongsFor(given: Schema): Wrong[] {
  const schema = resolved(given);
  if (schema.enum !== undefined) {
    return [{ value: 'nonesuch', shown: '"nonesuch"', words: schema.enum.map((option) => JSON.stringify(option)) }];
  }
  if (schema.oneOf !== undefined) return [{ value: 'x', shown: '"x"', words: ['an object like {'] }];
  switch (schema.type ?? 'any') {
    case 'string':
      return wrongStrings(schema);
    case 'integer':
    case 'number':
      return wrongNumbers(schema);
    case 'boolean':
      return [{ value: 'yes', shown: '"yes"', words: ['true or false'] }];
    case 'array': {
      const counts = [schema.minItems, schema.maxItems].flatMap((count) => (count === undefined ? [] : [String(count)]));
      const empty = (schema.minItems ?? 0) > 0 ? [{ value: [], shown: '[]', words: ['a list of', ...counts] }] : [];
      return [{ value: 'x', shown: '"x"', words: ['a list of', ...counts] }, ...empty];
    }
    case 'object': {
      const required = schema.required ?? [];
      return [
        { value: 'x', shown: '"x"', words: ['an object', ...required] },
        ...(required.length === 0 ? [{ value: ['x'], shown: '["x"]', words: ['an object'] }] : []),
      ];
    }
    default:
      return []; // any value is valid
  }
}

function wrongStrings({ minLength, maxLength, contentEncoding }: Schema): Wrong[] {
  if (contentEncoding !== undefined) {
    return [
      { value: 5, shown: '5', words: ['bytes', 'base64'] },
      { value: '%', shown: '"%"', words: ['bytes', 'base64'] },
    ];
  }
  const bounds = [minLength, maxLength].flatMap((bound) => (bound === undefined ? [] : [String(bound)]));
  const words = ['a string', ...bounds];
  const tooLong = maxLength === undefined ? [] : [maxLength + 1];
  return [
    { value: 5, shown: '5', words },
    ...tooLong.map((length) => ({ value: long(length), shown: `"${'x'.repeat(60)}…" (${length} characters)`, words })),
    ...(minLength === undefined ? [] : [{ value: '', shown: '""', words }]),
  ];
}

function wrongNumbers({ type, minimum, maximum }: Schema): Wrong[] {
  const bounds = [minimum, maximum].flatMap((bound) => (bound === undefined ? [] : [String(bound)]));
  const words = [type === 'integer' ? 'an integer' : 'a number', ...bounds];
  const values = [
    '1',
    NaN,
    ...(type === 'integer' ? [1.5] : []),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
  ];
  return values.map((value) => ({ value, shown: typeof value === 'string' ? `"${value}"` : String(value), words }));
}

function refusal(method: string, message: unknown): string {
  assert.ok(isMethod(method), method);
  try {
    readParams(method, message);
  } catch (error) {
    if (isExecError(error, 'invalidParams')) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('a wrong value is refused by member, rule and value', () => {
  const methods = Object.keys($defs).filter((name) => name.endsWith(' params'));
  for (const method of methods.map((name) => name.slice(0, -' params'.length)).filter(isMethod)) {
    const schema = $defs[`${method} params`] ?? assert.fail();
    const places = placesIn({ path: 'params', schema, messageWith: (value) => value });

    test(`in the ${places.length} places of ${method}`, () => {
      for (const { path, schema: wanted, messageWith } of places) {
        for (const { value, shown, words } of wrongsFor(wanted)) {
          const text = refusal(method, messageWith(value));
          const [, place, rule, got] =
            /^(.+?): expected (.+), got (.+)$/s.exec(text) ?? assert.fail(`${method} ${path}: ${text}`);
          assert.deepEqual([place, got], [path, shown], text);
          for (const word of words) assert.ok(rule?.includes(word), `${text}\n  does not contain "${word}"`);
        }
      }
    });

    test(`when a member of ${method} is missing`, () => {
      const { required = [] } = resolved(schema);
      const whole = sampleOf(schema);
      for (const name of required) {
        const text = refusal(method, Object.fromEntries(Object.entries(membersOf(whole)).filter(([each]) => each !== name)));
        assert.match(text, new RegExp(`^${name}: expected .+, got nothing$`));
      }
      assert.notEqual(refusal(method, 'x'), 'accepted');
    });
  }
});

test('the rules read as sentences', () => {
  const protoNamed: unknown = JSON.parse('{"__proto__": "x"}');
  const cases: [string, unknown, string][] = [
    ['initialize', {}, 'clientName: expected a string of at most 256 characters, got nothing'],
    ['process/read', { processId: 'p', waitMs: 1.5 }, 'waitMs: expected an integer of 0 or more, got 1.5'],
    ['process/start', { processId: 'p', io: { kind: 'pipe' } }, 'io.stdin: expected "open" or "closed", got nothing'],
    ['process/start', { processId: 'p', env: { 'A B': 1 } }, 'env["A B"]: expected a string, got 1'],
    [
      'process/start',
      { processId: 'p', env: protoNamed },
      'env: expected no member named __proto__, prototype, constructor, got {"__proto__": "x"}',
    ],
    [
      'process/start',
      { processId: 'p', env: { ['E'.repeat(100_000)]: 1 } },
      `env["${'E'.repeat(60)}…" (100000 characters)]: expected a string, got 1`,
    ],
    ['process/write', { processId: 'p', chunk: 'AA' }, 'chunk: expected bytes, which are padded base64 on the wire, got "AA"'],
    ['process/attach', [], 'processId: expected a string of at most 256 characters, well-formed Unicode, got nothing'],
    ['process/attach', 5, 'params: expected an object with processId, got 5'],
  ];
  for (const [method, message, expected] of cases) assert.equal(refusal(method, message), expected);
});
