// Messages that contain bytes, as text and in parts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { joinParts, jsonParts } from '#src/rpc/json-parts.js';
import { partsLength, writeParts } from '#src/transport/message-parts.js';

describe('the JSON of a value', () => {
  test('without bytes is the output of JSON.stringify, in one part', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })), (value) => {
        assert.deepEqual(jsonParts(value), [JSON.stringify(value)]);
      }),
    );
  });

  test('omits undefined members, as JSON does', () => {
    assert.deepEqual(jsonParts({ a: undefined, b: [undefined, null], c: {} }), ['{"b":[null,null],"c":{}}']);
  });

  test('contains bytes as base64 at any depth', () => {
    const bytes = fc.uint8Array().map((each) => Buffer.from(each));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        bytes,
        fc.string({ unit: 'binary' }),
        fc.array(tie('value')),
        fc.dictionary(fc.string(), tie('value')),
      ),
    }));
    const encoded = (_name: string, each: unknown): unknown =>
      isBufferJson(each) ? Buffer.from(each.data).toString('base64') : each;
    fc.assert(
      fc.property(value, (each) => {
        const parts = jsonParts({ each });
        assert.deepEqual(JSON.parse(joinParts(parts)), JSON.parse(JSON.stringify({ each }), encoded));
      }),
    );
  });

  test('contains integers too large for a number digit for digit', () => {
    assert.deepEqual(jsonParts({ id: 9223372036854775807n, list: [-9223372036854775808n] }), [
      '{"id":9223372036854775807,"list":[-9223372036854775808]}',
    ]);
  });

  test('takes exactly the announced length in a buffer', () => {
    const parts = ['{"é✓":"', Buffer.from('any'), '","b":"', Buffer.from('more'), '"}'];
    const room = Buffer.alloc(partsLength(parts) + 2, '.');
    assert.equal(writeParts(room, 1, parts), room.length - 1);
    assert.equal(room.toString(), `.${joinParts(parts)}.`);
  });
});

/** The form that JSON.stringify gives a Buffer. */
function isBufferJson(value: unknown): value is { readonly data: readonly number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value;
}
