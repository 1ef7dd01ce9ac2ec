// How the receiver reads frames, in the style of the Autobahn test suite: each case in one piece, and byte by byte.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ReceiverOptions, WebSocketReceiver } from '#src/transport/websocket-receiver.js';

type Seen =
  | string
  | { readonly binary: string }
  | { readonly ping: string }
  | { readonly pong: true }
  | { readonly closing: number; readonly reason: string }
  | { readonly broken: number };

const maxMessageBytes = 200_000;

/** Around every boundary of the header's forms and of the words in masking. */
const lengths = [0, 1, 2, 3, 4, 125, 126, 127, 128, 129, 130, 131, 65_535, 65_536, 70_001];

describe('messages', () => {
  reads(
    'of any length are read, in each form of the length',
    lengths.flatMap((bytes) => [frame(0x81, 'x'.repeat(bytes)), frame(0x82, 'y'.repeat(bytes))]),
    [...lengths.flatMap((bytes) => ['x'.repeat(bytes), { binary: 'y'.repeat(bytes) }])],
  );

  reads(
    'are read even if their length is not in its shortest form',
    [frame(0x81, 'abc', { lengthBytes: 2 }), frame(0x81, 'def', { lengthBytes: 8 }), frame(0x89, 'ghi', { lengthBytes: 8 })],
    ['abc', 'def', { ping: 'ghi' }],
  );

  reads('may contain any text, including a byte order mark', [frame(0x81, '\ufeffHellö ✓ 🎈 \0')], ['\ufeffHellö ✓ 🎈 \0']);

  reads(
    'of the longest length are read, whole or in fragments',
    [frame(0x81, 'x'.repeat(maxMessageBytes)), frame(0x01, 'x'), frame(0x80, 'x'.repeat(maxMessageBytes - 1))],
    ['x'.repeat(maxMessageBytes), 'x'.repeat(maxMessageBytes)],
  );

  for (const [what, frames] of Object.entries({
    'that are longer': [frame(0x81, 'x'.repeat(maxMessageBytes + 1))],
    'whose fragments are longer together': [frame(0x01, 'x'.repeat(maxMessageBytes)), frame(0x00, ''), frame(0x80, 'x')],
    'with a length beyond any memory': [Buffer.from('82ff7fffffffffffffff00000000', 'hex')],
  })) {
    reads(`${what} are refused with 1009 before they have arrived`, [...frames, frame(0x81, 'more')], [{ broken: 1009 }]);
  }
});

describe('fragments', () => {
  reads(
    'are joined, including empty and large ones',
    [frame(0x01, 'a'), frame(0x00, ''), frame(0x00, 'b'.repeat(70_000)), frame(0x80, 'c'), frame(0x02, ''), frame(0x80, '')],
    [`a${'b'.repeat(70_000)}c`, { binary: '' }],
  );

  reads(
    'may have control frames between them',
    [frame(0x01, 'a'), frame(0x89, 'p'), frame(0x00, 'b'), frame(0x8a, 'q'), frame(0x80, 'c'), frame(0x88, '')],
    [{ ping: 'p' }, { pong: true }, 'abc', { closing: 1005, reason: '' }],
  );

  reads('that continue nothing are a protocol error', [frame(0x80, 'a')], [{ broken: 1002 }]);
  reads(
    'that continue nothing after a whole message are a protocol error',
    [frame(0x81, 'a'), frame(0x00, 'b')],
    ['a', { broken: 1002 }],
  );
  reads('must end before the next message begins', [frame(0x01, 'a'), frame(0x81, 'b')], [{ broken: 1002 }]);

  test('that are empty use no memory, however many there are', () => {
    const { receiver, seen } = listening();
    receiver.push(frame(0x01, ''));
    for (let count = 0; count < 100_000; count += 1) receiver.push(frame(0x00, ''));
    receiver.push(frame(0x80, 'a'));
    assert.deepEqual(seen, ['a']);
  });
});

describe('text', () => {
  const [first, second] = [Buffer.from('κόσμε').subarray(0, 5), Buffer.from('κόσμε').subarray(5)];
  reads('may be split inside a character', [frame(0x01, first), frame(0x80, second)], ['κόσμε']);

  for (const [what, hex] of Object.entries({
    'a lone continuation byte': '80',
    'a character cut short': 'cebae1bd',
    'a surrogate': 'edbebf',
    'an overlong slash': 'c0af',
    'a code point above the last': 'f4908080',
    'a byte that never occurs': 'fe',
  })) {
    const bytes = Buffer.from(`41${hex}`, 'hex');
    reads(`with ${what} is refused with 1007`, [frame(0x81, bytes)], [{ broken: 1007 }]);
    reads(
      `with ${what} is refused with 1007 in fragments too`,
      [frame(0x01, bytes.subarray(0, 2)), frame(0x80, bytes.subarray(2))],
      [{ broken: 1007 }],
    );
  }

  reads('may be invalid in binary messages', [frame(0x82, Buffer.of(0xff, 0xfe))], [{ binary: '\u00ff\u00fe' }]);
});

describe('control frames', () => {
  reads(
    'may have up to 125 bytes',
    [frame(0x89, 'p'.repeat(125)), frame(0x8a, 'q'.repeat(125))],
    [{ ping: 'p'.repeat(125) }, { pong: true }],
  );
  reads('with more are a protocol error', [frame(0x89, 'p'.repeat(126))], [{ broken: 1002 }]);
  reads('may not be fragmented', [frame(0x09, 'p')], [{ broken: 1002 }]);
});

describe('headers', () => {
  for (const opcode of [3, 4, 5, 6, 7, 11, 12, 13, 14, 15]) {
    reads(`with the opcode ${opcode} are a protocol error`, [frame(0x80 | opcode, '')], [{ broken: 1002 }]);
  }
  for (const bit of [0x40, 0x20, 0x10]) {
    reads(`with the reserved bit ${bit} are a protocol error`, [frame(0x81 | bit, 'a')], [{ broken: 1002 }]);
    reads(`of control frames with the reserved bit ${bit} are too`, [frame(0x89 | bit, 'a')], [{ broken: 1002 }]);
  }
  reads(
    'with the highest bit of the length set are a protocol error',
    [Buffer.from('82ff800000000000000000000000', 'hex')],
    [{ broken: 1002 }],
  );
  reads('without a mask are a protocol error for a client', [frame(0x81, 'a', { isMasked: false })], [{ broken: 1002 }]);

  test('with a mask are a protocol error for a server, without one they are not', () => {
    const { receiver, seen } = listening({ peer: 'server', maxMessageBytes });
    receiver.push(Buffer.concat([frame(0x81, 'a', { isMasked: false }), frame(0x81, 'b')]));
    assert.deepEqual(seen, ['a', { broken: 1002 }]);
  });
});

describe('a close', () => {
  reads('may have no code', [frame(0x88, '')], [{ closing: 1005, reason: '' }]);
  reads('may have a reason', [close(1000, 'r✓'.repeat(30))], [{ closing: 1000, reason: 'r✓'.repeat(30) }]);
  reads('ends the reading', [close(1000, ''), frame(0x81, 'more'), frame(0x89, '')], [{ closing: 1000, reason: '' }]);
  reads('with half a code is a protocol error', [frame(0x88, 'a')], [{ broken: 1002 }]);
  reads('with a reason that is not UTF-8 is refused with 1007', [frame(0x88, Buffer.of(0x03, 0xe8, 0xce))], [{ broken: 1007 }]);

  for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]) {
    reads(`may have the code ${code}`, [close(code, '')], [{ closing: code, reason: '' }]);
  }
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535]) {
    reads(`with the code ${code} is a protocol error`, [close(code, '')], [{ broken: 1002 }]);
  }
});

/** Checks the same result for several chunk sizes. Long input is not split into tiny chunks, to save time. */
function reads(sentence: string, frames: readonly Buffer[], expected: readonly Seen[]): void {
  const bytes = Buffer.concat(frames);
  const steps = bytes.length < 10_000 ? [bytes.length, 1, 2, 3, 7] : [bytes.length, 4_099, 65_536];
  test(sentence, () => {
    for (const step of steps) {
      const { receiver, seen } = listening();
      for (let at = 0; at < bytes.length; at += step) receiver.push(Buffer.from(bytes.subarray(at, at + step)));
      assert.deepEqual(seen, expected, `in pieces of ${step}`);
    }
  });
}

function listening(options: ReceiverOptions = { peer: 'client', maxMessageBytes }) {
  const seen: Seen[] = [];
  const receiver = new WebSocketReceiver(options, {
    text: (text) => seen.push(text),
    binary: (bytes) => seen.push({ binary: Buffer.from(bytes).toString('latin1') }),
    ping: (payload) => seen.push({ ping: Buffer.from(payload).toString() }),
    pong: () => seen.push({ pong: true }),
    closing: (closing, reason) => seen.push({ closing, reason }),
    broken: (broken) => seen.push({ broken }),
  });
  return { receiver, seen };
}

interface FrameForm {
  readonly isMasked?: boolean;
  readonly lengthBytes?: 0 | 2 | 8;
}

/** Built independently of the sender's code, so that the two share no mistake. */
function frame(first: number, content: string | Buffer, { isMasked = true, lengthBytes }: FrameForm = {}): Buffer {
  const payload = Buffer.from(content as string);
  const extra = lengthBytes ?? (payload.length < 126 ? 0 : payload.length < 65_536 ? 2 : 8);
  const header = Buffer.alloc(2 + extra);
  header[0] = first;
  header[1] = (isMasked ? 0x80 : 0) | (extra === 0 ? payload.length : extra === 2 ? 126 : 127);
  if (extra > 0) header.writeUIntBE(payload.length, header.length - Math.min(extra, 6), Math.min(extra, 6));
  if (!isMasked) return Buffer.concat([header, payload]);
  const key = Buffer.of(0xa1, 0x02, 0xf3, 0x44);
  return Buffer.concat([header, key, payload.map((byte, index) => byte ^ (key[index % 4] ?? 0))]);
}

function close(code: number, reason: string): Buffer {
  return frame(0x88, Buffer.concat([Buffer.of(code >> 8, code & 0xff), Buffer.from(reason)]));
}
