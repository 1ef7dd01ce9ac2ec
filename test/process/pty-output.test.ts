// Reading a real terminal to its very end, with the test in the place of the processes on it.

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

  /** A terminal with a leader on it, and what its reader tells: pieces of output joined, 'drained …', 'ended'. */
  function start({ readBytes = 65_536 } = {}) {
    const clock = new FakeClock();
    const terminal = openTerminal();
    const events: string[] = [];
    let isText = false;
    const tell = (event: string) => {
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
        ended: () => tell('ended'),
      },
      { clock, readBuffer: Buffer.alloc(readBytes) },
    );
    const open = new Set<number>();
    /** A process of the terminal begins. */
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
      /** The leader dies; then the reader is told. */
      leaderDies() {
        end(leader);
        output.drainLeader((isComplete) => tell(isComplete ? 'drained' : 'drained in part'));
      },
      come: (...expected: string[]) => eventually(() => assert.deepEqual(events, expected)),
      [Symbol.dispose]() {
        for (const fd of open) end(fd);
        output.close();
      },
    };
  }

  test('comes as it is written', async () => {
    using terminal = start();
    writeSync(terminal.leader, 'one\u001b[0m\ttwo');
    await terminal.come('one\u001b[0m\ttwo');
  });

  test('is complete when the leader’s death is told, and has nothing in it that the leader did not write', async () => {
    using terminal = start();
    writeSync(terminal.leader, 'last words');
    terminal.leaderDies();
    await terminal.come('last words', 'drained', 'ended');
  });

  test('is complete when there was none', async () => {
    using terminal = start();
    terminal.leaderDies();
    await terminal.come('drained', 'ended');
  });

  test('goes on after the leader’s death as long as a descendant holds the terminal', async () => {
    using terminal = start();
    const descendant = terminal.begin();
    writeSync(terminal.leader, 'mine');
    terminal.leaderDies();
    await terminal.come('mine', 'drained');
    writeSync(descendant, 'still here');
    await terminal.come('mine', 'drained', 'still here');
    terminal.end(descendant);
    await terminal.come('mine', 'drained', 'still here', 'ended');
  });

  test('has nothing of the reader’s own mark in it either when that comes after patience has run out', async () => {
    for (const readBytes of [1, 7, 65_536]) {
      using terminal = start({ readBytes });
      const descendant = terminal.begin();
      writeSync(terminal.leader, 'last words');
      terminal.leaderDies();
      terminal.clock.skip(2_000);
      await terminal.come('drained in part', 'last words');
      writeSync(descendant, 'more\u001b_');
      terminal.end(descendant);
      await terminal.come('drained in part', 'last wordsmore\u001b_', 'ended');
    }
  });

  test('has no part of a mark in it that found no room, and what follows it is not lost', async () => {
    using terminal = start();
    const descendant = terminal.begin();
    const text = 'x'.repeat(fillTerminal(terminal.leader));
    terminal.leaderDies();
    terminal.clock.skip(2_000);
    await terminal.come('drained in part', text);
    writeSync(descendant, 'still here\u001b');
    terminal.end(descendant);
    await terminal.come('drained in part', `${text}still here\u001b`, 'ended');
  });

  test('keeps what only looks like the beginning of the reader’s own mark', async () => {
    for (const words of ['a\u001b_12\u001b', 'a\u001b_\u001b\\']) {
      using terminal = start();
      writeSync(terminal.leader, words);
      terminal.leaderDies();
      await terminal.come(words, 'drained', 'ended');
    }
  });

  test('is complete however small the pieces are in which it is read', async () => {
    using terminal = start({ readBytes: 7 });
    writeSync(terminal.leader, 'the last words of a long life');
    terminal.leaderDies();
    await terminal.come('the last words of a long life', 'drained', 'ended');
  });

  test('is not read while it is held', async () => {
    using terminal = start();
    await settle();
    terminal.output.hold();
    writeSync(terminal.leader, 'later');
    await settle();
    assert.deepEqual(terminal.events, []);
    terminal.output.resume();
    await terminal.come('later');
  });

  test('of a dead leader is read although it is held, and that of descendants is not', async () => {
    using terminal = start();
    const descendant = terminal.begin();
    await settle();
    terminal.output.hold();
    writeSync(terminal.leader, 'last words');
    terminal.leaderDies();
    await terminal.come('last words', 'drained');
    writeSync(descendant, 'later');
    await settle();
    assert.deepEqual(terminal.events, ['last words', 'drained']);
    terminal.output.resume();
    await terminal.come('last words', 'drained', 'later');
    terminal.end(descendant);
    await terminal.come('last words', 'drained', 'later', 'ended');
  });

  test('is complete although somebody stopped the terminal', async () => {
    using terminal = start();
    const written = await stop(terminal);
    await terminal.come(written);
    terminal.leaderDies();
    await terminal.clock.advance(100);
    assert.deepEqual(terminal.events, [written]);
    await eventually(async () => {
      await terminal.clock.advance(2);
      assert.deepEqual(terminal.events, [written, 'drained', 'ended']);
    });
  });

  test('is told to be incomplete when it is given up before the end', async () => {
    using terminal = start();
    const written = await stop(terminal);
    await terminal.come(written);
    terminal.leaderDies();
    terminal.output.close();
    await terminal.come(written, 'drained in part', 'ended');
    terminal.output.close();
    await settle(); // the descriptor's own end has come by now
    assert.deepEqual(terminal.events, [written, 'drained in part', 'ended']);
  });

  test('keeps its last bytes when it is given up, although they look like the beginning of the reader’s own mark', async () => {
    using terminal = start();
    await settle();
    terminal.output.hold();
    writeSync(terminal.leader, 'tail');
    const written = `tail${await stop(terminal, '\u001b')}`;
    terminal.leaderDies();
    await terminal.come(written.slice(0, -1));
    terminal.output.close();
    await terminal.come(written, 'drained in part', 'ended');
  });

  test('keeps those bytes too when it is given up after patience has run out', async () => {
    using terminal = start();
    await settle();
    terminal.output.hold();
    writeSync(terminal.leader, 'tail');
    const written = `tail${await stop(terminal, '\u001b')}`;
    terminal.leaderDies();
    await terminal.come(written.slice(0, -1));
    terminal.clock.skip(2_000);
    await terminal.come(written.slice(0, -1), 'drained in part');
    terminal.output.close();
    await terminal.come(written.slice(0, -1), 'drained in part', '\u001b', 'ended');
  });

  /** Types Ctrl-S, and has the leader write a letter again and again until that has its effect. Gives all it wrote. */
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
    await terminal.come('drained');
    assert.deepEqual(terminal.clock.pendingMs, []);
  });

  test('tells whenever some of it comes', async () => {
    using terminal = start();
    let times = 0;
    terminal.output.onActivity(() => (times += 1));
    writeSync(terminal.leader, 'x');
    await terminal.come('x');
    assert.equal(times, 1);
  });
});

/** Writes until there is no room, and tells how much. */
function fillTerminal(fd: number): number {
  let count = 0;
  try {
    for (;;) count += writeSync(fd, 'x');
  } catch (error) {
    if (errnoOf(error) !== 'EAGAIN') throw error;
    return count;
  }
}
