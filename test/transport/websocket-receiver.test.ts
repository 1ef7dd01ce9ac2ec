// What the receiver makes of frames, in the manner of the Autobahn test suite: each case whole, and byte by byte.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ReceiverOptions, WebSocketReceiver } from '#src/transport/websocket-receiver.js';

type Heard =
  | string
  | { readonly binary: string }
  | { readonly ping: string }
  | { readonly pong: true }
  | { readonly closing: number; readonly reason: string }
  | { readonly broken: number };

const maxMessageBytes = 200_000;

/** Around every border of the header's forms and of the masking's words. */
const lengths = [0, 1, 2, 3, 4, 125, 126, 127, 128, 129, 130, 131, 65_535, 65_536, 70_001];

describe('messages', () => {
  hears(
    'of any length are read, whatever form their length has',
    lengths.flatMap((bytes) => [frame(0x81, 'x'.repeat(bytes)), frame(0x82, 'y'.repeat(bytes))]),
    [...lengths.flatMap((bytes) => ['x'.repeat(bytes), { binary: 'y'.repeat(bytes) }])],
  );

  hears(
    'are read though their length is longer than it need be',
    [frame(0x81, 'abc', { lengthBytes: 2 }), frame(0x81, 'def', { lengthBytes: 8 }), frame(0x89, 'ghi', { lengthBytes: 8 })],
    ['abc', 'def', { ping: 'ghi' }],
  );

  hears('may hold any text, a byte order mark included', [frame(0x81, '\ufeffHellö ✓ 🎈 \0')], ['\ufeffHellö ✓ 🎈 \0']);

  hears(
    'of the longest length are read, whole or in fragments',
    [frame(0x81, 'x'.repeat(maxMessageBytes)), frame(0x01, 'x'), frame(0x80, 'x'.repeat(maxMessageBytes - 1))],
    ['x'.repeat(maxMessageBytes), 'x'.repeat(maxMessageBytes)],
  );

  for (const [what, frames] of Object.entries({
    'that are longer': [frame(0x81, 'x'.repeat(maxMessageBytes + 1))],
    'whose fragments are longer together': [frame(0x01, 'x'.repeat(maxMessageBytes)), frame(0x00, ''), frame(0x80, 'x')],
    'said to be longer than memory': [Buffer.from('82ff7fffffffffffffff00000000', 'hex')],
  })) {
    hears(`${what} are refused with 1009 before they have come`, [...frames, frame(0x81, 'more')], [{ broken: 1009 }]);
  }
});

describe('fragments', () => {
  hears(
    'are put together, empty ones and large ones alike',
    [frame(0x01, 'a'), frame(0x00, ''), frame(0x00, 'b'.repeat(70_000)), frame(0x80, 'c'), frame(0x02, ''), frame(0x80, '')],
    [`a${'b'.repeat(70_000)}c`, { binary: '' }],
  );

  hears(
    'may have control frames between them',
    [frame(0x01, 'a'), frame(0x89, 'p'), frame(0x00, 'b'), frame(0x8a, 'q'), frame(0x80, 'c'), frame(0x88, '')],
    [{ ping: 'p' }, { pong: true }, 'abc', { closing: 1005, reason: '' }],
  );

  hears('that continue nothing break the rules', [frame(0x80, 'a')], [{ broken: 1002 }]);
  hears(
    'that continue nothing after a whole message break the rules',
    [frame(0x81, 'a'), frame(0x00, 'b')],
    ['a', { broken: 1002 }],
  );
  hears('must end before the next message begins', [frame(0x01, 'a'), frame(0x81, 'b')], [{ broken: 1002 }]);

  test('without end, and without content, are not kept', () => {
    const { receiver, heard } = listening();
    receiver.push(frame(0x01, ''));
    for (let count = 0; count < 100_000; count += 1) receiver.push(frame(0x00, ''));
    receiver.push(frame(0x80, 'a'));
    assert.deepEqual(heard, ['a']);
  });
});

describe('text', () => {
  const [first, second] = [Buffer.from('κόσμε').subarray(0, 5), Buffer.from('κόσμε').subarray(5)];
  hears('may be cut inside a character', [frame(0x01, first), frame(0x80, second)], ['κόσμε']);

  for (const [what, hex] of Object.entries({
    'a lone continuation byte': '80',
    'a character cut short': 'cebae1bd',
    'a surrogate': 'edbebf',
    'an overlong slash': 'c0af',
    'a code point above the last': 'f4908080',
    'a byte that never occurs': 'fe',
  })) {
    const bytes = Buffer.from(`41${hex}`, 'hex');
    hears(`with ${what} is refused with 1007`, [frame(0x81, bytes)], [{ broken: 1007 }]);
    hears(
      `with ${what} is refused with 1007 in fragments, too`,
      [frame(0x01, bytes.subarray(0, 2)), frame(0x80, bytes.subarray(2))],
      [{ broken: 1007 }],
    );
  }

  hears('is not asked of bytes', [frame(0x82, Buffer.of(0xff, 0xfe))], [{ binary: '\u00ff\u00fe' }]);
});

describe('control frames', () => {
  hears(
    'have up to 125 bytes',
    [frame(0x89, 'p'.repeat(125)), frame(0x8a, 'q'.repeat(125))],
    [{ ping: 'p'.repeat(125) }, { pong: true }],
  );
  hears('with more break the rules', [frame(0x89, 'p'.repeat(126))], [{ broken: 1002 }]);
  hears('may not be fragmented', [frame(0x09, 'p')], [{ broken: 1002 }]);
});

describe('headers', () => {
  for (const opcode of [3, 4, 5, 6, 7, 11, 12, 13, 14, 15]) {
    hears(`with the opcode ${opcode} break the rules`, [frame(0x80 | opcode, '')], [{ broken: 1002 }]);
  }
  for (const bit of [0x40, 0x20, 0x10]) {
    hears(`with the reserved bit ${bit} break the rules`, [frame(0x81 | bit, 'a')], [{ broken: 1002 }]);
    hears(`of control frames with the reserved bit ${bit} do, too`, [frame(0x89 | bit, 'a')], [{ broken: 1002 }]);
  }
  hears(
    'with the highest bit of the length set break the rules',
    [Buffer.from('82ff800000000000000000000000', 'hex')],
    [{ broken: 1002 }],
  );
  hears('without a mask break the rules for a client', [frame(0x81, 'a', { isMasked: false })], [{ broken: 1002 }]);

  test('with a mask break the rules for a server, and without one they do not', () => {
    const { receiver, heard } = listening({ peer: 'server', maxMessageBytes });
    receiver.push(Buffer.concat([frame(0x81, 'a', { isMasked: false }), frame(0x81, 'b')]));
    assert.deepEqual(heard, ['a', { broken: 1002 }]);
  });
});

describe('a close', () => {
  hears('may have no code', [frame(0x88, '')], [{ closing: 1005, reason: '' }]);
  hears('may have a reason', [close(1000, 'r✓'.repeat(30))], [{ closing: 1000, reason: 'r✓'.repeat(30) }]);
  hears('ends what is listened to', [close(1000, ''), frame(0x81, 'more'), frame(0x89, '')], [{ closing: 1000, reason: '' }]);
  hears('with half a code breaks the rules', [frame(0x88, 'a')], [{ broken: 1002 }]);
  hears('with a reason that is no text is refused with 1007', [frame(0x88, Buffer.of(0x03, 0xe8, 0xce))], [{ broken: 1007 }]);

  for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]) {
    hears(`may have the code ${code}`, [close(code, '')], [{ closing: code, reason: '' }]);
  }
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535]) {
    hears(`with the code ${code} breaks the rules`, [close(code, '')], [{ broken: 1002 }]);
  }
});

/** The same must be heard however the bytes come. Long ones are not sent byte by byte more than they need be. */
function hears(sentence: string, frames: readonly Buffer[], expected: readonly Heard[]): void {
  const bytes = Buffer.concat(frames);
  const steps = bytes.length < 10_000 ? [bytes.length, 1, 2, 3, 7] : [bytes.length, 4_099, 65_536];
  test(sentence, () => {
    for (const step of steps) {
      const { receiver, heard } = listening();
      for (let at = 0; at < bytes.length; at += step) receiver.push(Buffer.from(bytes.subarray(at, at + step)));
      assert.deepEqual(heard, expected, `in pieces of ${step}`);
    }
  });
}

function listening(options: ReceiverOptions = { peer: 'client', maxMessageBytes }) {
  const heard: Heard[] = [];
  const receiver = new WebSocketReceiver(options, {
    text: (text) => heard.push(text),
    binary: (bytes) => heard.push({ binary: Buffer.from(bytes).toString('latin1') }),
    ping: (payload) => heard.push({ ping: Buffer.from(payload).toString() }),
    pong: () => heard.push({ pong: true }),
    closing: (closing, reason) => heard.push({ closing, reason }),
    broken: (broken) => heard.push({ broken }),
  });
  return { receiver, heard };
}

interface FrameForm {
  readonly isMasked?: boolean;
  readonly lengthBytes?: 0 | 2 | 8;
}

/** Built here bit by bit, so that it shares no mistake with the sender. */
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
