// Parsing one message from its text.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { readEnvelope } from '#src/rpc/message.js';

const limits = { jsonDepth: 64, jsonValues: 1_000 };
const idIn = (text: string) => {
  const envelope = readEnvelope(text, limits);
  return 'id' in envelope ? envelope.id : envelope;
};
const notAnId = { kind: 'malformed', problem: 'id must be a string or a 64-bit integer' };

describe('the id of a message', () => {
  test('is a number if a number can hold every digit, and a BigInt otherwise', () => {
    for (const [digits, id] of [
      ['9007199254740991', 2 ** 53 - 1],
      ['-9007199254740991', 1 - 2 ** 53],
      ['9007199254740993', 9007199254740993n],
      ['-9007199254740993', -9007199254740993n],
      ['9223372036854775807', 9223372036854775807n],
      ['-9223372036854775808', -9223372036854775808n],
      ['9223372036854775808', 9223372036854775808n],
      ['18446744073709551615', 18446744073709551615n],
    ] as const) {
      assert.deepEqual(idIn(`{"id":${digits},"method":"x"}`), id);
      assert.deepEqual(idIn(`{"id":${digits},"result":{}}`), id);
    }
  });

  test('has at most 64 bits, and must be written as plain digits if a number cannot hold it', () => {
    for (const literal of ['18446744073709551616', '-9223372036854775809', '1e19', '9007199254740993.0', '1e400', '-1e19']) {
      assert.deepEqual(idIn(`{"id":${literal},"method":"x"}`), notAnId, literal);
    }
  });

  test('is the one of the message itself, even if other objects in it have one', () => {
    const big = 9223372036854775807n;
    for (const text of [
      `{"params":{"id":9007199254740993},"id":${big},"method":"x"}`,
      `{"params":[{"id":1}],"method":"x","id":${big}}`,
      `{"method":"\\"id\\":9007199254740993,","id":${big}}`,
      `{"a":"id","method":"x","id":${big}}`,
      `{"id":9007199254740993,"method":"x","id":${big}}`,
      `{"\\u0069d":${big},"method":"x"}`,
      ` { "id" \t:\r\n ${big} , "method" : "x" } `,
      `{"method":"x","params":"}{\\\\","id":${big}}`,
    ]) {
      assert.deepEqual(idIn(text), big, text);
    }
  });

  test('is read exactly, for any integer and any other members', () => {
    const other = fc.jsonValue().filter((value) => JSON.stringify(value) !== undefined);
    const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(integer, other, other, (id, before, after) => {
        const text = `{"a":${JSON.stringify(before)},"method":"x","id":${id},"params":${JSON.stringify(after)}}`;
        const read = idIn(text);
        assert.equal(typeof read === 'object' ? '' : BigInt(read), id);
      }),
    );
  });
});
