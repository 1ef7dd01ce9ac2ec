// Reading a real terminal to the end, with the test playing the processes on it.

import assert from 'node:assert/strict';
import { closeSync, writeSync } from 'node:fs';
import { describe, test } from 'node:test';
import { PtyOutput } from '#src/process/output/pty-output.js';
import { errnoOf } from '#src/process/start/spawn-failure.js';
import { eventually } from '../support/eventually.js';
import { FakeClock, settle } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { noTerminal, openTerminal } from '../support/terminal.js';

const stopCharacter = '\u0013';

describe('the output of a terminal', { skip: noTerminal }, () => {
  guardAgainstLeaks();

  /** A terminal with a leader on it, and the events of its reader: joined pieces of output, 'drained …', 'ended'. */
  function start({ readBytes = 65_536 } = {}) {
    const clock = new FakeClock();
    const terminal = openTerminal();
    const events: string[] = [];
    let isText = false;
    const record = (event: string) => {
      isText = false;
      events.push(event);
    };
    const output = new PtyOutput(
      { master: terminal.master, slave: terminal.openSlave() },
      {
        output(_stream, bytes) {
          const text = Buffer.from(bytes).toString('latin1');
          if (isText) events.push((events.pop() ?? '') + text);
          else events.push(text);
          isText = true;
        },
        ended: () => record('ended'),
      },
      { clock, readBuffer: Buffer.alloc(readBytes) },
    );
    const open = new Set<number>();
    /** Starts a process on the terminal. */
    const begin = () => {
      const fd = terminal.openSlave();
      open.add(fd);
      return fd;
    };
    const end = (fd: number) => {
      open.delete(fd);
      closeSync(fd);
    };
    const leader = begin();
    return {
      clock,
      master: terminal.master,
      output,
      events,
      leader,
      begin,
      end,
      /** The leader dies, and then the reader starts draining. */
      leaderDies() {
        end(leader);
        output.drainLeader((isComplete) => record(isComplete ? 'drained' : 'drained in part'));
      },
      expect: (...expected: string[]) => eventually(() => assert.deepEqual(events, expected)),
      [Symbol.dispose]() {
        for (const fd of open) end(fd);
        output.close();
      },
    };
  }

  test('arrives as it is written', async () => {
    using terminal = start();
    writeSync(terminal.leader, 'one\u001b[0m\ttwo');
    await terminal.expect('one\u001b[0m\ttwo');
  });

  test('is complete when the leader’s death is reported, and contains nothing that the leader did not write', async () => {
    using terminal = start();
    writeSync(terminal.leader, 'last words');
    terminal.leaderDies();
    await terminal.expect('last words', 'drained', 'ended');
  });

  test('is complete when nothing was written', async () => {
    using terminal = start();
    terminal.leaderDies();
    await terminal.expect('drained', 'ended');
  });

  test('continues after the leader’s death as long as a descendant holds the terminal', async () => {
    using terminal = start();
    const descendant = terminal.begin();
    writeSync(terminal.leader, 'mine');
    terminal.leaderDies();
    await terminal.expect('mine', 'drained');
    writeSync(descendant, 'still here');
    await terminal.expect('mine', 'drained', 'still here');
    terminal.end(descendant);
    await terminal.expect('mine', 'drained', 'still here', 'ended');
  });

  test('does not contain the reader’s marker even when that arrives after the timeout', async () => {
    for (const readBytes of [1, 7, 65_536]) {
      using terminal = start({ readBytes });
      const descendant = terminal.begin();
      writeSync(terminal.leader, 'last words');
      terminal.leaderDies();
      terminal.clock.skip(2_000);
      await terminal.expect('drained in part', 'last words');
      writeSync(descendant, 'more\u001b_');
      terminal.end(descendant);
      await terminal.expect('drained in part', 'last wordsmore\u001b_', 'ended');
    }
  });

  test('contains no part of a marker that did not fit, and loses nothing after it', async () => {
    using terminal = start();
    const descendant = terminal.begin();
    const text = 'x'.repeat(fillTerminal(terminal.leader));
    terminal.leaderDies();
    terminal.clock.skip(2_000);
    await terminal.expect('drained in part', text);
    writeSync(descendant, 'still here\u001b');
    terminal.end(descendant);
    await terminal.expect('drained in part', `${text}still here\u001b`, 'ended');
  });

  test('keeps bytes that only look like the beginning of the reader’s marker', async () => {
    for (const words of ['a\u001b_12\u001b', 'a\u001b_\u001b\\']) {
      using terminal = start();
      writeSync(terminal.leader, words);
      terminal.leaderDies();
      await terminal.expect(words, 'drained', 'ended');
    }
  });

  test('is complete however small the reads are', async () => {
    using terminal = start({ readBytes: 7 });
    writeSync(terminal.leader, 'the last words of a long life');
    terminal.leaderDies();
    await terminal.expect('the last words of a long life', 'drained', 'ended');
  });

  test('is not read while it is held', async () => {
    using terminal = start();
    await settle();
    terminal.output.hold();
    writeSync(terminal.leader, 'later');
    await settle();
    assert.deepEqual(terminal.events, []);
    terminal.output.resume();
    await terminal.expect('later');
  });

  test('of a dead leader is read even while held, unlike that of descendants', async () => {
    using terminal = start();
    const descendant = terminal.begin();
    await settle();
    terminal.output.hold();
    writeSync(terminal.leader, 'last words');
    terminal.leaderDies();
    await terminal.expect('last words', 'drained');
    writeSync(descendant, 'later');
    await settle();
    assert.deepEqual(terminal.events, ['last words', 'drained']);
    terminal.output.resume();
    await terminal.expect('last words', 'drained', 'later');
    terminal.end(descendant);
    await terminal.expect('last words', 'drained', 'later', 'ended');
  });

  test('is complete although the terminal was stopped', async () => {
    using terminal = start();
    const written = await stop(terminal);
    await terminal.expect(written);
    terminal.leaderDies();
    await terminal.clock.advance(100);
    assert.deepEqual(terminal.events, [written]);
    await eventually(async () => {
      await terminal.clock.advance(2);
      assert.deepEqual(terminal.events, [written, 'drained', 'ended']);
    });
  });

  test('is reported as incomplete when it is closed before the end', async () => {
    using terminal = start();
    const written = await stop(terminal);
    await terminal.expect(written);
    terminal.leaderDies();
    terminal.output.close();
    await terminal.expect(written, 'drained in part', 'ended');
    terminal.output.close();
    await settle(); // by now the descriptor's own end has been seen
    assert.deepEqual(terminal.events, [written, 'drained in part', 'ended']);
  });

  test('keeps its last bytes when it is closed, although they look like the beginning of the reader’s marker', async () => {
    using terminal = start();
    await settle();
    terminal.output.hold();
    writeSync(terminal.leader, 'tail');
    const written = `tail${await stop(terminal, '\u001b')}`;
    terminal.leaderDies();
    await terminal.expect(written.slice(0, -1));
    terminal.output.close();
    await terminal.expect(written, 'drained in part', 'ended');
  });

  test('keeps those bytes too when it is closed after the timeout', async () => {
    using terminal = start();
    await settle();
    terminal.output.hold();
    writeSync(terminal.leader, 'tail');
    const written = `tail${await stop(terminal, '\u001b')}`;
    terminal.leaderDies();
    await terminal.expect(written.slice(0, -1));
    terminal.clock.skip(2_000);
    await terminal.expect(written.slice(0, -1), 'drained in part');
    terminal.output.close();
    await terminal.expect(written.slice(0, -1), 'drained in part', '\u001b', 'ended');
  });

  /** Types Ctrl-S, and lets the leader write a letter repeatedly until the terminal is stopped. Returns all it wrote. */
  async function stop({ master, leader }: ReturnType<typeof start>, letter = 'x'): Promise<string> {
    writeSync(leader, letter);
    let written = letter;
    writeSync(master, stopCharacter);
    await eventually(() => {
      try {
        writeSync(leader, letter);
      } catch (error) {
        if (errnoOf(error) === 'EAGAIN') return;
        throw error;
      }
      written += letter;
      throw new Error('the terminal is not stopped yet');
    });
    return written;
  }

  test('leaves no timer behind', async () => {
    using terminal = start();
    terminal.begin();
    terminal.leaderDies();
    await terminal.expect('drained');
    assert.deepEqual(terminal.clock.pendingMs, []);
  });

  test('is announced whenever some of it arrives', async () => {
    using terminal = start();
    let times = 0;
    terminal.output.onActivity(() => (times += 1));
    writeSync(terminal.leader, 'x');
    await terminal.expect('x');
    assert.equal(times, 1);
  });
});

/** Writes until there is no room, and returns how much. */
function fillTerminal(fd: number): number {
  let count = 0;
  try {
    for (;;) count += writeSync(fd, 'x');
  } catch (error) {
    if (errnoOf(error) !== 'EAGAIN') throw error;
    return count;
  }
}
