// The published JSON Schema and the server's validators accept and refuse the same messages, with two exceptions. JSON Schema treats
// `contentEncoding` as an annotation, so these tests enforce it. JSON Schema counts string lengths in characters, the validators in UTF-16
// code units.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import * as v from 'valibot';
import { decodeBase64 } from '#src/base/base64.js';
import { requests } from '#src/protocol/methods.js';
import { notifications } from '#src/protocol/notifications.js';
import { invalidMessages, validMessages } from './message-corpus.js';

const document = JSON.parse(readFileSync(new URL('../../dist/protocol/schema.json', import.meta.url), 'utf8')) as {
  readonly $defs: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>;
};

const ajv = new Ajv2020({ strict: true, strictRequired: true, allErrors: false });
ajv.removeKeyword('contentEncoding');
ajv.addKeyword({
  keyword: 'contentEncoding',
  type: 'string',
  validate: (_encoding: 'base64', text: string) => decodeBase64(text) !== undefined,
});
ajv.addSchema(document, 'sluice');

const validators: ReadonlyMap<string, v.GenericSchema> = new Map([
  ...Object.entries(requests).flatMap(([method, row]): [string, v.GenericSchema][] => [
    [`${method} params`, row.params],
    [`${method} result`, row.result],
  ]),
  ...Object.entries(notifications).map(([name, row]): [string, v.GenericSchema] => [`${name} params`, row.params]),
]);

test('the document has an entry for the params and the result of everything in the table', () => {
  const entries = Object.keys(document.$defs).filter((name) => name.includes(' '));
  assert.deepEqual(entries.toSorted(), [...validators.keys()].toSorted());
});

test('every entry of the document is a valid JSON Schema', () => {
  for (const name of Object.keys(document.$defs)) assert.doesNotThrow(() => schemaTakes(name, {}), name);
});

test('bytes are base64 text in the document', () => {
  assert.deepEqual(document.$defs['process/write params']?.properties?.['chunk'], { type: 'string', contentEncoding: 'base64' });
});

test('both accept every valid message of the corpus', () => {
  for (const [name, messages] of Object.entries(validMessages)) {
    for (const message of messages) {
      assert.deepEqual(verdicts(name, message), { schema: true, validator: true }, `${name} ${JSON.stringify(message)}`);
    }
  }
});

test('both refuse a list in place of any object', () => {
  for (const [name, messages] of Object.entries(validMessages)) {
    for (const message of messages) {
      for (const place of placesOfObjects(message)) {
        for (const list of [[], ['A=B'], [1], [true]]) {
          const text = `${name} ${place.join('.')} ${JSON.stringify(list)}`;
          const changedMessage = changedAt(message, place, () => list);
          assert.deepEqual(verdicts(name, changedMessage), { schema: false, validator: false }, text);
        }
      }
    }
  }
});

test('both agree on a message with one change', () => {
  for (const [name, messages] of Object.entries(validMessages)) {
    fc.assert(
      fc.property(fc.constantFrom<unknown>(...messages).chain(changed), (message) => {
        const { schema, validator } = verdicts(name, message);
        assert.equal(schema, validator, name);
      }),
    );
  }
});

describe('both refuse', () => {
  for (const [reason, name, message] of invalidMessages) {
    test(`${reason} in ${name}`, () => {
      assert.deepEqual(verdicts(name, overTheWire(message)), { schema: false, validator: false });
    });
  }
});

function verdicts(name: string, message: unknown): { schema: boolean; validator: boolean } {
  const validator = validators.get(name);
  assert.ok(validator, `the table has no ${name}`);
  return { schema: schemaTakes(name, message), validator: v.is(validator, message) };
}

function schemaTakes(name: string, message: unknown): boolean {
  const validate = ajv.getSchema(`sluice#/$defs/${encodeURIComponent(name.replaceAll('/', '~1'))}`);
  assert.ok(validate, `the document has no ${name}`);
  return validate(message) === true;
}

/** Values at the limits of the protocol, or of the wrong type. */
const oddNumbers = [0, 1, -1, 0.5, 65_535, 65_536, Number.MAX_SAFE_INTEGER, 2 ** 53];
const oddTexts = ['', 'x', 'pty', 'open', 'AA==', 'AA', '-_8=', ...[128, 129, 256, 257].map((length) => 'x'.repeat(length))];
const oddObjects = [{}, { kind: 'lost' }, { kind: 'pipe', stdin: 'open' }];
const oddLists = [[], ['A=B'], [1], [{}]];
const replacement = fc.constantFrom<unknown>(null, true, false, ...oddNumbers, ...oddTexts, ...oddObjects, ...oddLists);

/** The message with one value at any depth replaced or removed, or with one extra member. */
function changed(message: unknown): fc.Arbitrary<unknown> {
  return fc.constantFrom(...placesIn(message)).chain((place) =>
    fc.oneof(
      replacement.map((value) => changedAt(message, place, () => value)),
      fc.constant(changedAt(message, place, () => undefined)),
      replacement.map((value) => changedAt(message, place, (old) => (isObject(old) ? { ...old, unknownMember: value } : old))),
    ),
  );
}

type Place = readonly string[];

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [[]];
  return [[], ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner).map((place) => [key, ...place]))];
}

/** Members that accept any value, because they are always refused. */
const freeMembers = ['networkProxy', 'managedNetwork', 'sandbox', 'permissionProfile'];

function placesOfObjects(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, each]): Place[] => {
    if (freeMembers.includes(key)) return [];
    return key === 'metadata' ? [[key]] : placesOfObjects(each).map((place) => [key, ...place]);
  });
  return isObject(value) ? [[], ...inner] : inner;
}

function changedAt(value: unknown, place: Place, change: (old: unknown) => unknown): unknown {
  const [key, ...rest] = place;
  if (key === undefined) return change(value) ?? null;
  const changedInner = (old: unknown) => (rest.length === 0 ? change(old) : changedAt(old, rest, change));
  if (isList(value)) return overTheWire(value.map((inner, at) => (String(at) === key ? changedInner(inner) : inner)));
  assert.ok(isObject(value));
  return overTheWire({ ...value, [key]: changedInner(value[key]) });
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Drops undefined members, as sending does. */
function overTheWire(message: unknown): unknown {
  return JSON.parse(JSON.stringify(message));
}
