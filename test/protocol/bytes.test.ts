// Base64 in both directions, with Node's decoder and with the one in browsers.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import * as v from 'valibot';
import { decodeBase64, encodeBase64 } from '#src/base/base64.js';
import { bytes } from '#src/protocol/bytes.js';

/** More bytes than a browser encodes per slice. */
const severalSlices = 20_000;

const everyByte = Uint8Array.from({ length: 256 }, (_, at) => at);

const notBase64 = {
  'without its padding': ['AA', 'AAA', 'AAAAA'],
  'with too much padding': ['A===', '====', 'AAAA===='],
  'with padding inside': ['AA==AAAA', 'A=AA'],
  'with characters of another alphabet': ['AA.A', '!!!!', 'AAA,'],
  'in the URL-safe alphabet': ['-_8=', 'AAA-', '____'],
  'with whitespace': [' AAA', 'AA A', 'AAA\n', 'AAAA    ', 'AA==\n\n\n\n'],
  'with characters that only look right in their low byte': ['ŁAAA', 'AAA\u0141', 'AA\uff3d\uff3d'],
  'whose last character has unused bits that are not 0': ['AB==', 'Af==', '//==', 'AAB=', 'AAAAAA/=', 'aGl='],
};

for (const { where, call } of [
  { where: 'Node', call: <T>(use: () => T) => use() },
  { where: 'a browser', call: withoutBuffer },
]) {
  describe(`base64 in ${where}`, () => {
    const roundTrip = (original: Uint8Array) => call(() => decodeBase64(encodeBase64(original)));

    test('every byte value survives a round trip', () => {
      assert.deepEqual(plain(roundTrip(everyByte)), everyByte);
    });

    test('any bytes survive a round trip', () => {
      fc.assert(fc.property(fc.uint8Array(), (original) => assert.deepEqual(plain(roundTrip(original)), original)));
    });

    test('bytes of several slices survive a round trip', () => {
      const original = Uint8Array.from({ length: severalSlices }, (_, at) => (at * 7) % 256);
      assert.deepEqual(plain(roundTrip(original)), original);
    });

    test('a view of a larger buffer encodes only its own bytes', () => {
      assert.equal(
        call(() => encodeBase64(everyByte.subarray(65, 68))),
        'QUJD',
      );
    });

    test('the empty text decodes to no bytes, without an error', () => {
      assert.deepEqual(plain(call(() => decodeBase64(''))), new Uint8Array());
      assert.equal(
        call(() => encodeBase64(new Uint8Array())),
        '',
      );
    });

    for (const [fault, texts] of Object.entries(notBase64)) {
      test(`text ${fault} is refused`, () => {
        assert.deepEqual(
          texts.map((text) => call(() => decodeBase64(text))),
          texts.map(() => undefined),
        );
      });
    }

    test('text of any characters is decoded exactly when it is padded, canonical base64', () => {
      const wellFormed = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
      const nearlyBase64 = fc.string({
        unit: fc.constantFrom('A', 'Q', 'b', '7', '+', '/', '=', '-', '_', ' ', 'Ł'),
        maxLength: 12,
      });
      fc.assert(
        fc.property(fc.oneof(nearlyBase64, fc.string(), fc.base64String()), (text) =>
          assert.equal(call(() => decodeBase64(text)) !== undefined, wellFormed.test(text)),
        ),
      );
    });
  });
}

test('a Uint8Array is accepted unchanged', () => {
  const given = Uint8Array.of(1, 2);
  assert.equal(v.parse(bytes, given), given);
});

/** Converts a Buffer to a plain Uint8Array, so that only the bytes are compared. */
function plain(decoded: Uint8Array | undefined): Uint8Array | undefined {
  return decoded && Uint8Array.from(decoded);
}

/** The code detects a browser by the absence of Buffer. */
function withoutBuffer<T>(use: () => T): T {
  const kept = Object.getOwnPropertyDescriptor(globalThis, 'Buffer');
  assert.ok(kept);
  Reflect.deleteProperty(globalThis, 'Buffer');
  try {
    return use();
  } finally {
    Object.defineProperty(globalThis, 'Buffer', kept);
  }
}
