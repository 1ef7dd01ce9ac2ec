// Writing to stdin: order, back-pressure, the cap, retries, and every way that stdin can end.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { StdinWriter, type WriteStatus } from '#src/process/input/stdin-writer.js';
import { asProcessId, isExecError } from '#src/protocol/index.js';
import { FakeChildInput } from '../support/fake-child-input.js';
import { settle } from '../support/fake-clock.js';

const limits = { stdinWindowBytes: 10, stdinCapBytes: 20 };
const id = asProcessId('p');

/** A writer on a stdin that takes nothing until the test says so. */
function open(bounds = limits) {
  const input = new FakeChildInput();
  const writer = new StdinWriter(id, input, bounds);
  const write = (text: string, writeId?: string) => writer.write(Buffer.from(text), writeId);
  return { input, writer, write };
}

/** The current state of an answer. */
async function soFar(answer: Promise<WriteStatus>): Promise<WriteStatus | 'waiting'> {
  let state: WriteStatus | 'waiting' = 'waiting';
  void answer.then((status) => (state = status));
  await settle();
  return state;
}

const all = (answers: readonly Promise<WriteStatus>[]) => Promise.all(answers.map(soFar));

describe('order and pace', () => {
  test('writes reach the child in order, and small queued ones are merged', () => {
    const { input, write } = open();
    for (const text of ['one', 'two', 'three']) void write(text);
    input.takeAll();
    assert.deepEqual(input.history, ['one', 'twothree']);
  });

  test('at most 64 KiB are merged', () => {
    const { input, write } = open({ stdinWindowBytes: 10, stdinCapBytes: 1024 * 1024 });
    void write('first');
    for (let count = 0; count < 3 * 1024; count += 1) void write('x'.repeat(64));
    input.takeAll();
    const slice = 'x'.repeat(64 * 1024);
    assert.deepEqual(input.history, ['first', slice, slice, slice]);
  });

  test('a write that fits the window is answered before the child reads', async () => {
    assert.equal(await soFar(open().write('x'.repeat(10))), 'accepted');
  });

  test('a write past the window waits until the child has read far enough', async () => {
    const { input, write } = open();
    const answers = [write('a'.repeat(6)), write('b'.repeat(10)), write('c'.repeat(4))];
    const states = [await all(answers)];
    for (let taken = 0; taken < 2; taken += 1) {
      input.take();
      states.push(await all(answers));
    }
    assert.deepEqual(states, [
      ['accepted', 'waiting', 'waiting'],
      ['accepted', 'accepted', 'waiting'],
      ['accepted', 'accepted', 'accepted'],
    ]);
  });

  test('a long write is passed on in slices and answered when the rest fits the window', async () => {
    const slice = 64 * 1024;
    const { input, write } = open({ stdinWindowBytes: slice, stdinCapBytes: 4 * slice });
    const answer = write('x'.repeat(2 * slice + 1));
    const states = [[input.offeredBytes, await soFar(answer)]];
    while (input.take()) states.push([input.offeredBytes, await soFar(answer)]);
    assert.deepEqual(states, [
      [slice, 'waiting'],
      [slice, 'waiting'],
      [1, 'accepted'],
      [0, 'accepted'],
    ]);
  });

  test('an empty write behind a full window waits like any other', async () => {
    const { input, write } = open();
    void write('x'.repeat(11));
    const answer = write('');
    assert.equal(await soFar(answer), 'waiting');
    input.take();
    assert.equal(await soFar(answer), 'accepted');
  });

  test("the caller's buffer may be reused right after the call", () => {
    const { input, writer } = open();
    const buffer = Buffer.from('first');
    void writer.write(buffer, undefined);
    buffer.fill('#');
    input.takeAll();
    assert.deepEqual(input.history, ['first']);
  });
});

describe('the cap', () => {
  test('a write past it is refused with exact numbers', () => {
    const { write } = open();
    void write('x'.repeat(15));
    assert.throws(
      () => write('y'.repeat(6)),
      (error) => {
        assert.ok(isExecError(error, 'stdinFull'));
        assert.deepEqual(error.data, { processId: 'p', offeredBytes: 6, queuedBytes: 15, freeBytes: 5 });
        assert.equal(error.message, 'stdin of process p has room for 5 bytes now, with 15 bytes unread, got 6 bytes');
        return true;
      },
    );
  });

  test('a single write beyond it is refused with its own size', () => {
    const { write } = open();
    assert.throws(() => write('y'.repeat(21)), /has room for 20 bytes now, with 0 bytes unread, got 21 bytes/);
  });

  test('a write of exactly the free size is accepted', async () => {
    const { input, write } = open();
    void write('x'.repeat(15));
    const answer = write('y'.repeat(5));
    input.takeAll();
    assert.equal(await soFar(answer), 'accepted');
  });

  test('nothing of a refused write is queued', () => {
    const { input, writer, write } = open();
    void write('x'.repeat(15));
    assert.throws(() => write('y'.repeat(6)));
    const queuedBytes = writer.queuedBytes;
    input.takeAll();
    assert.deepEqual([queuedBytes, input.history], [15, ['x'.repeat(15)]]);
  });

  test('bytes that the child has read make room again', () => {
    const { input, writer, write } = open();
    void write('x'.repeat(15));
    input.take();
    void write('y'.repeat(20));
    assert.equal(writer.queuedBytes, 20);
  });

  test('a refused write may be retried with its id', async () => {
    const { input, write } = open();
    void write('x'.repeat(20));
    assert.throws(() => write('again', 'id'));
    input.takeAll();
    assert.equal(await soFar(write('again', 'id')), 'accepted');
    input.takeAll();
    assert.deepEqual(input.history, ['x'.repeat(20), 'again']);
  });

  test('a refused write stays refused when it is resent, since later ones may have been accepted', async () => {
    const { input, writer, write } = open();
    void write('x'.repeat(16));
    assert.throws(() => write('too much', 'id'));
    void write('fits');
    input.takeAll();
    assert.throws(() => writer.write(Buffer.from('too much'), 'id', 'again'));
    input.takeAll();
    assert.deepEqual(input.history, ['x'.repeat(16), 'fits']);
  });
});

describe('a write id', () => {
  test('seen before is answered but not written again', async () => {
    const { input, write } = open();
    const answers = [write('once', 'id'), write('once', 'id')];
    input.takeAll();
    assert.deepEqual([await all(answers), input.history], [['accepted', 'accepted'], ['once']]);
  });

  test('whose first write is still waiting gets the same answer as that write', async () => {
    const { input, write } = open();
    const answers = [write('x'.repeat(12), 'id'), write('x'.repeat(12), 'id')];
    const before = await all(answers);
    input.takeAll();
    assert.deepEqual(
      [before, await all(answers), input.history],
      [['waiting', 'waiting'], ['accepted', 'accepted'], ['x'.repeat(12)]],
    );
  });

  test('keeps its first answer after stdin was closed', async () => {
    const { writer, write } = open();
    void write('x', 'id');
    writer.close();
    assert.deepEqual(await all([write('x', 'id'), write('y', 'other')]), ['accepted', 'stdinClosed']);
  });

  test('is forgotten after 4096 others', () => {
    const { input, write } = open();
    for (let at = 0; at <= 4096; at += 1) {
      void write(`${at}.`, `id ${at}`);
      input.takeAll();
    }
    input.history.length = 0;
    void write('second', 'id 1');
    void write('first', 'id 0');
    input.takeAll();
    assert.deepEqual(input.history, ['first']);
  });
});

describe('ending', () => {
  test('happens after everything that was written', () => {
    const { input, writer, write } = open();
    void write('one');
    void write('two');
    const answer = writer.end();
    input.takeAll();
    assert.deepEqual([answer, input.history], ['closed', ['one', 'two', 'end']]);
  });

  test('an idle stdin happens immediately', () => {
    const { input, writer } = open();
    writer.end();
    assert.deepEqual(input.history, ['end']);
  });

  test('twice is reported as alreadyClosed, and done once', () => {
    const { input, writer, write } = open();
    void write('x');
    const answers = [writer.end(), writer.end()];
    input.takeAll();
    answers.push(writer.end());
    assert.deepEqual(
      [answers, input.history],
      [
        ['closed', 'alreadyClosed', 'alreadyClosed'],
        ['x', 'end'],
      ],
    );
  });

  test('refuses later writes, although earlier ones are still queued', async () => {
    const { input, writer, write } = open();
    void write('early');
    writer.end();
    assert.equal(await soFar(write('late')), 'stdinClosed');
    input.takeAll();
    assert.deepEqual(input.history, ['early', 'end']);
  });

  test('from the child’s side answers every waiting write with stdinClosed', async () => {
    const { input, writer, write } = open();
    const answers = [write('a'.repeat(8)), write('b'.repeat(8)), write('c'.repeat(4))];
    input.fail();
    assert.deepEqual(
      [await all([...answers, write('later')]), writer.queuedBytes, input.history],
      [['accepted', 'stdinClosed', 'stdinClosed', 'stdinClosed'], 0, ['destroy']],
    );
  });

  test('from the child’s side is reported immediately to the write that detects it', async () => {
    const broken = { write: (_: Uint8Array, taken: (error: Error) => void) => taken(new Error('EIO')), end() {}, destroy() {} };
    assert.equal(await new StdinWriter(id, broken, limits).write(Buffer.from('x'), undefined), 'stdinClosed');
  });

  test('with the process discards queued writes', async () => {
    const { input, writer, write } = open();
    const answer = write('x'.repeat(12));
    writer.close();
    assert.deepEqual([await soFar(answer), writer.queuedBytes, input.history], ['stdinClosed', 0, ['destroy']]);
  });

  test('with the process is not undone by a write that the kernel takes at the same time', () => {
    const { input, writer, write } = open();
    void write('x'.repeat(12));
    writer.close();
    input.take();
    assert.equal(writer.queuedBytes, 0);
  });

  test('is already done when stdin was started closed', async () => {
    const writer = new StdinWriter(id, undefined, limits);
    assert.deepEqual([await writer.write(Buffer.from('x'), undefined), writer.end()], ['stdinClosed', 'alreadyClosed']);
  });
});

test('for any sequence of writes and reads, the child reads exactly what was accepted, in order', () => {
  const step = fc.oneof(fc.string({ unit: 'binary-ascii', maxLength: 25 }), fc.constant('take' as const));
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { input, writer, write } = open();
      const accepted: string[] = [];
      for (const each of steps) {
        if (each === 'take') input.take();
        else if (writer.queuedBytes + each.length > limits.stdinCapBytes) assert.throws(() => write(each));
        else {
          void write(each);
          accepted.push(each);
        }
      }
      input.takeAll();
      assert.deepEqual([input.history.join(''), writer.queuedBytes], [accepted.join(''), 0]);
    }),
  );
});
