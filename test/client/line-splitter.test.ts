// Splitting bytes into lines: the same lines however the bytes are chunked, no character damaged, no line too long.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { LineSplitter, type SplitLine } from '#src/client/line-splitter.js';

const unlimited = 1024 * 1024;

/** The lines of these chunks, including the rest at the end. */
function split(chunks: readonly Uint8Array[], maxLineBytes = unlimited): SplitLine[] {
  const splitter = new LineSplitter(maxLineBytes);
  return [...chunks.flatMap((chunk) => [...splitter.push(chunk)]), ...splitter.flush()];
}

/** A short form: a whole line as it is, a cut one with a hyphen, a last one without line feed with a dot. */
function brief(lines: readonly SplitLine[]): string[] {
  const signs = { newline: '', cut: '-', end: '.' };
  return lines.map(({ text, ending }) => text + signs[ending]);
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Bytes cut into chunks at random positions. */
const chunked = (bytes: fc.Arbitrary<Uint8Array>) =>
  fc.tuple(bytes, fc.array(fc.nat(1_000))).map(([whole, cuts]) => {
    const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).toSorted((one, other) => one - other), whole.length];
    return places.slice(1).map((end, at) => whole.slice(places[at], end));
  });

/** Text with many special cases: line ends, characters of every length, the byte order mark. */
const text = fc.string({
  unit: fc.oneof(fc.constantFrom('\n', '\r', '\r\n', 'é', '€', '😀', '\ufeff', 'a'), fc.string({ unit: 'binary', maxLength: 1 })),
});
const bytes = fc.oneof(
  text.map(bytesOf),
  fc.uint8Array(),
  fc.array(fc.constantFrom(0x0a, 0x0d, 0x61, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x80, 0xff)).map((some) => Uint8Array.from(some)),
);

describe('lines', () => {
  test('end at line feeds, and empty ones are lines too', () => {
    assert.deepEqual(brief(split([bytesOf('one\n\ntwo\n')])), ['one', '', 'two']);
  });

  test('lose the carriage return that a terminal puts before the line feed, and no other', () => {
    assert.deepEqual(brief(split([bytesOf('one\r\n\r\na\rb\r\r\n')])), ['one', '', 'a\rb\r']);
  });

  test('without a line feed at the end of the output are marked', () => {
    assert.deepEqual(split([bytesOf('one\ntwo\r')]), [
      { text: 'one', ending: 'newline' },
      { text: 'two\r', ending: 'end' },
    ]);
  });

  test('are absent when there is no output', () => {
    assert.deepEqual(split([new Uint8Array()]), []);
  });

  test('keep byte order marks', () => {
    assert.deepEqual(brief(split([bytesOf('\ufeffone\n\ufefftwo\n')])), ['\ufeffone', '\ufefftwo']);
  });

  test('have the replacement character for bytes that are not UTF-8', () => {
    assert.deepEqual(brief(split([Uint8Array.of(0x61, 0xff, 0x62, 0x0a)])), ['a\ufffdb']);
  });

  test('are returned as soon as their line feed arrives', () => {
    const splitter = new LineSplitter(unlimited);
    assert.deepEqual(
      ['on', 'e\ntw', '', 'o\n'].map((piece) => brief([...splitter.push(bytesOf(piece))])),
      [[], ['one'], [], ['two']],
    );
  });

  test('are the same when the caller reuses one buffer for all chunks', () => {
    const splitter = new LineSplitter(unlimited);
    const buffer = Buffer.alloc(3);
    const lines = ['abc', 'de\n'].flatMap((piece) => {
      buffer.write(piece);
      return [...splitter.push(buffer)];
    });
    assert.deepEqual(brief(lines), ['abcde']);
  });

  test('are those of the whole text, for any bytes and any chunks', () => {
    fc.assert(
      fc.property(chunked(bytes), (chunks) => {
        const whole = Buffer.concat(chunks);
        const pieces = latin1Lines(whole);
        const last = pieces.pop() ?? '';
        const expected = [
          ...pieces.map((piece) => ({ text: decoded(piece.replace(/\r$/, '')), ending: 'newline' })),
          ...(last === '' ? [] : [{ text: decoded(last), ending: 'end' }]),
        ];
        assert.deepEqual(split(chunks), expected);
      }),
    );
  });
});

describe('a long line', () => {
  test('is cut at the limit, and its pieces are marked', () => {
    assert.deepEqual(brief(split([bytesOf('abcdefghij\nk\n')], 4)), ['abcd-', 'efgh-', 'ij', 'k']);
  });

  test('of exactly the limit is whole', () => {
    assert.deepEqual(brief(split([bytesOf('abcd\nefgh')], 4)), ['abcd', 'efgh.']);
  });

  test('of exactly the limit is whole when its line feed arrives later', () => {
    assert.deepEqual(brief(split([bytesOf('abcd'), bytesOf('\n'), bytesOf('efgh'), bytesOf('i')], 4)), ['abcd', 'efgh-', 'i.']);
  });

  test('is cut before a character that does not fit, not inside it', () => {
    assert.deepEqual(brief(split([bytesOf('ab€cd😀\n')], 4)), ['ab-', '€c-', 'd-', '😀']);
  });

  test('may be cut after a stray continuation byte', () => {
    assert.deepEqual(brief(split([Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x61, 0x0a)], 4)), ['\ufffd'.repeat(4) + '-', 'a']);
  });

  test('keeps its rest when the caller reuses the buffer', () => {
    const splitter = new LineSplitter(4);
    const buffer = Buffer.from('ab€');
    const lines = [...splitter.push(buffer)];
    buffer.fill('#');
    assert.deepEqual(brief([...lines, ...splitter.flush()]), ['ab-', '€.']);
  });

  test('is split into pieces within the limit that join to the line, for any chunks', () => {
    fc.assert(
      fc.property(chunked(text.map(bytesOf)), fc.integer({ min: 4, max: 12 }), (chunks, maxLineBytes) => {
        const lines = split(chunks, maxLineBytes);
        assert.deepEqual(
          lines.filter((line) => bytesOf(line.text).length > maxLineBytes),
          [],
        );
        assert.deepEqual(lines, split([Buffer.concat(chunks)], maxLineBytes), 'the cuts do not depend on the chunks');
        assert.deepEqual(rejoined(lines), split(chunks));
      }),
    );
  });

  test('needs a limit of at least one character', () => {
    assert.deepEqual(
      [0, 3, -1, NaN].map((limit) => messageOf(() => new LineSplitter(limit))),
      [0, 3, -1, NaN].map((limit) => `maxLineBytes must be at least 4, the length of the longest character, got ${limit}`),
    );
  });
});

/** Joins cut pieces into whole lines. */
function rejoined(lines: readonly SplitLine[]): SplitLine[] {
  const whole: SplitLine[] = [];
  let begun = '';
  for (const { text: piece, ending } of lines) {
    begun += piece;
    if (ending === 'cut') continue;
    whole.push({ text: begun, ending });
    begun = '';
  }
  return whole;
}

/** The bytes between line feeds, one character per byte; the last line may be empty. */
function latin1Lines(whole: Uint8Array): string[] {
  return Buffer.from(whole).toString('latin1').split('\n');
}

function decoded(latin1: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(latin1, 'latin1'));
}

function messageOf(call: () => unknown): string {
  try {
    call();
    return 'no error';
  } catch (error) {
    return error instanceof RangeError ? error.message : String(error);
  }
}
