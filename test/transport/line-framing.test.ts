// Messages in a byte stream: the same ones however the bytes are chunked.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { LineFraming, encodeLine, markedFrame } from '#src/transport/line-framing.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { type Arrival, Recorder } from './recorder.js';

guardAgainstLeaks();

const maxBytes = 32;

describe('lines', () => {
  test('end in LF or CRLF, and blank ones are skipped', () => {
    assert.deepEqual(read('{"a":1}\n\r\n\n  \t \r\n{"b":2}\r\n'), ['{"a":1}', '{"b":2}']);
  });

  test('keep their content, including a lone CR', () => {
    assert.deepEqual(read(' {"a": "\r"} \n'), [' {"a": "\r"} ']);
  });

  test('are delivered only when complete', () => {
    assert.deepEqual(read('{"half":'), []);
    assert.deepEqual(read('{"half":', '1}', '\n'), ['{"half":1}']);
  });

  test('need no line feed at the end of the stream', () => {
    assert.deepEqual(read('{}\n{"last":1}', 'end'), ['{}', '{"last":1}']);
    assert.deepEqual(read('{}\n', 'end'), ['{}']);
  });

  test('may have a character split between two chunks', () => {
    const bytes = Buffer.from('"héllo ✓ 🎈"\n');
    for (let at = 0; at <= bytes.length; at += 1)
      assert.deepEqual(read(bytes.subarray(0, at), bytes.subarray(at)), ['"héllo ✓ 🎈"']);
  });

  test('that are not UTF-8 are unreadable, and reading continues with the next one', () => {
    for (const invalid of ['ff', 'c0af', 'eda080', 'e282', 'f4908080']) {
      assert.deepEqual(
        read(Buffer.from(`22${invalid}220a7b7d0a`, 'hex')),
        [{ unreadable: 'a line is not valid UTF-8' }, '{}'],
        invalid,
      );
    }
  });

  test('keep a byte order mark, which is not valid JSON', () => {
    assert.deepEqual(read('\uFEFF{}\n'), ['\uFEFF{}']);
  });
});

describe('a line at the limit', () => {
  const longest = 'x'.repeat(maxBytes);
  const tooLong = { unreadable: 'a line is longer than the 32 bytes allowed' };

  test('is read, with LF or CRLF', () => {
    assert.deepEqual(read(`${longest}\n${longest}\r\n`), [longest, longest]);
    assert.deepEqual(read(`${longest}\r`, '\n'), [longest]);
  });

  test('and one byte more is reported once, skipped to its end, and the next is read', () => {
    assert.deepEqual(read(`${longest}x\n{}\n`), [tooLong, '{}']);
    assert.deepEqual(read(`${longest}x\r\n{}\n`), [tooLong, '{}']);
    assert.deepEqual(read(longest, longest, longest, longest, 'x\n{}\n'), [tooLong, '{}']);
    assert.deepEqual(read(longest, longest, 'end'), [tooLong]);
  });

  test('when exceeded, the mark of a frame in the rest of the line has no meaning', () => {
    assert.deepEqual(read(longest, longest, '\u0001', '\u0001\n{}\n'), [tooLong, '{}']);
  });

  test('counts bytes, not characters', () => {
    assert.deepEqual(read(`${'é'.repeat(16)}\n${'é'.repeat(17)}\n`), ['é'.repeat(16), tooLong]);
  });
});

describe('binary frames', () => {
  const payload = Uint8Array.from([0x0a, 0x01, 0x00, 0xff]);

  test('are read between lines, including empty frames', () => {
    const bytes = Buffer.concat([
      Buffer.from('{}\n'),
      frame(payload),
      frame(new Uint8Array()),
      Buffer.from('{}\n'),
      frame(payload),
    ]);
    assert.deepEqual(read(bytes), ['{}', { binary: '0a0100ff' }, { binary: '' }, '{}', { binary: '0a0100ff' }]);
  });

  test('begin only where a line would begin', () => {
    assert.deepEqual(read('{"a":"\u0001"}\n'), ['{"a":"\u0001"}']);
  });

  test('as long as allowed are read; longer ones are reported once, skipped, and the next message is read', () => {
    const [longest, tooLong] = [new Uint8Array(maxBytes).fill(7), new Uint8Array(maxBytes + 1).fill(10)];
    assert.deepEqual(read(frame(longest), frame(tooLong), '{}\n'), [
      { binary: Buffer.from(longest).toString('hex') },
      { unreadable: 'a binary frame of 33 bytes is longer than the 32 bytes allowed' },
      '{}',
    ]);
  });

  test('of the greatest possible length are skipped without being kept', () => {
    const framing = new LineFraming(maxBytes, new Recorder());
    framing.push(Uint8Array.from([0x01, 0xff, 0xff, 0xff, 0xff]));
    const piece = new Uint8Array(1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    for (let pieces = 0; pieces < 1_000; pieces += 1) framing.push(piece);
    assert.ok(process.memoryUsage().arrayBuffers - before < 10 * piece.length);
  });

  test('that are cut short are unreadable', () => {
    const brokenOff = { unreadable: 'the peer ended in the middle of a binary frame' };
    const whole = frame(payload);
    for (let at = 1; at < whole.length; at += 1) assert.deepEqual(read(whole.subarray(0, at), 'end'), [brokenOff]);
  });
});

test('any bytes give the same messages in any chunks', () => {
  const content = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => Buffer.from(encodeLine(text))),
    fc.uint8Array({ maxLength: 40 }).map(frame),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom('\n', '\r\n', '\r', '\u0001', ' ').map((text) => Buffer.from(text)),
  );
  const stream = fc.array(content, { maxLength: 12 }).map((parts) => Buffer.concat(parts));
  fc.assert(
    fc.property(stream, fc.array(fc.nat(20), { minLength: 1, maxLength: 50 }), (bytes, sizes) => {
      assert.deepEqual(read(...cut(bytes, sizes), 'end'), read(bytes, 'end'));
    }),
    { numRuns: 2_000 },
  );
});

test('messages arrive as sent, in any chunks', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 30 }).map((value) => JSON.stringify({ value }));
  const sent = fc.array(fc.oneof(text, fc.uint8Array({ maxLength: 60 })), { maxLength: 10 });
  fc.assert(
    fc.property(sent, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (messages, sizes) => {
      const recorder = new Recorder();
      const framing = new LineFraming(1_000, recorder);
      const bytes = Buffer.concat(
        messages.map((each) => (typeof each === 'string' ? Buffer.from(encodeLine(each)) : frame(each))),
      );
      for (const piece of cut(bytes, sizes)) framing.push(piece);
      const expected = messages.map((each) => (typeof each === 'string' ? each : { binary: Buffer.from(each).toString('hex') }));
      assert.deepEqual(recorder.arrivals, expected);
    }),
  );
});

describe('a long line in small pieces', () => {
  test('takes time in proportion to its length; quadratic time would be minutes', () => {
    let length = 0;
    const framing = new LineFraming(Infinity, { message: (text) => (length = text.length), binary() {}, unreadable() {} });
    const [pieces, piece] = [160_000, Buffer.alloc(100, 'x')];
    for (let count = 0; count < pieces; count += 1) framing.push(piece);
    framing.push(Buffer.from('\n'));
    assert.equal(length, pieces * piece.length);
  });

  test('takes memory in proportion to its length, even byte by byte', () => {
    const framing = new LineFraming(Infinity, new Recorder());
    const [pieces, piece] = [1_000_000, Uint8Array.of(0x20)];
    globalThis.gc?.();
    const before = usedBytes();
    for (let count = 0; count < pieces; count += 1) framing.push(piece);
    assert.ok(usedBytes() - before < 20 * pieces, `${usedBytes() - before} bytes for a line of ${pieces}`);
  });
});

/** The messages in these pieces; 'end' stands for the end of the stream. */
function read(...pieces: (Uint8Array | string)[]): Arrival[] {
  const recorder = new Recorder();
  const framing = new LineFraming(maxBytes, recorder);
  for (const piece of pieces) {
    if (piece === 'end') framing.end();
    else framing.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
  }
  return recorder.arrivals;
}

function frame(payload: Uint8Array): Buffer {
  const { length, write } = markedFrame([payload]);
  const room = Buffer.alloc(length);
  write(room);
  return room;
}

/** Cuts the bytes into pieces of these sizes, repeatedly. The first size is at least one byte, so that the loop ends. */
function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = Math.max(sizes[turn % sizes.length] ?? 1, turn % sizes.length === 0 ? 1 : 0);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

function usedBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
