// The system clock jumps an hour forward or back while processes run: nothing ends early, nothing waits for an hour, and no process ends
// before it started.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Client, connect } from '#src/index.js';
import { openPipe, shell, terminal } from '../contract/connector.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

const misfortune = fileURLToPath(new URL('../fixtures/misfortune.js', import.meta.url));
const hourMs = 60 * 60 * 1_000;

for (const [direction, jumpMs] of [
  ['forward', hourMs],
  ['back', -hourMs],
] as const) {
  describe(`when the clock is set ${direction} by an hour`, { concurrency: true }, () => {
    guardAgainstLeaks();

    test('a terminated process gets its full grace period', async () => {
      await using jumping = await Jumping.open(jumpMs);
      // Exits only when it reads a line, which the test writes after the jump and well within the grace period.
      await using child = await jumping.client.start({
        ...shell('trap "read -r _; exit 7" TERM; echo ready; while :; do sleep 0.01; done'),
        io: openPipe,
      });
      await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
      await child.terminate({ forceAfterMs: 10_000 });
      await jumping.jump();
      await child.write('exit\n');
      const ending = await child.closed;
      assert.deepEqual([ending.kind === 'code' && ending.code, ending.reason], [7, 'terminated']);
    });

    test('a process that ignores SIGTERM is killed after its grace period', async () => {
      await using jumping = await Jumping.open(jumpMs);
      await using child = await jumping.client.start(shell('trap "" TERM; echo ready; while :; do sleep 0.1; done'));
      await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
      await child.terminate({ forceAfterMs: 500 });
      await jumping.jump();
      const ending = await child.closed;
      assert.deepEqual([ending.kind === 'signal' && ending.signal, ending.reason], ['SIGKILL', 'terminated']);
    });

    test('a call with its own time limit is answered when the limit expires', async () => {
      await using jumping = await Jumping.open(jumpMs);
      await using child = await jumping.client.start(shell('sleep 0.5; echo noise; sleep 600'));
      const waiting = [child.endedWithin(1_000), child.read({ afterSeq: 1, waitMs: 1_000 })];
      await jumping.jump();
      const [ended] = await Promise.all(waiting);
      assert.equal(ended, undefined);
    });

    test('a process that prints is not idle, and a silent one is', async () => {
      await using jumping = await Jumping.open(jumpMs);
      const printing = await jumping.client.start({ ...shell('while :; do echo; sleep 0.05; done'), idleTimeoutMs: 60_000 });
      const silent = await jumping.client.start({ ...shell('sleep 600'), idleTimeoutMs: 1_000 });
      let chunks = 0;
      const reading = (async () => {
        for await (const _ of printing.output) chunks += 1;
      })();
      await jumping.jump();
      const atJump = chunks;
      assert.equal((await silent.closed).reason, 'idleTimedOut');
      await eventually(() => assert.ok(chunks > atJump));
      await printing.terminate();
      assert.equal((await printing.closed).reason, 'terminated');
      await reading;
    });

    test('all output of a process on a terminal arrives, and the process does not end before it started', async () => {
      await using jumping = await Jumping.open(jumpMs);
      await using child = await jumping.client.start({ ...shell('read -r _; seq 1 1000'), io: terminal });
      await jumping.jump();
      await child.write('\n');
      let text = '';
      for await (const { bytes } of child.output) text += Buffer.from(bytes).toString();
      const { outputComplete, startedAt, endedAt } = await child.closed;
      assert.ok(outputComplete && text.endsWith('999\r\n1000\r\n'));
      assert.ok(startedAt <= endedAt);
    });
  });
}

/** A server whose clock can be set, with a client connected to it. */
class Jumping implements AsyncDisposable {
  readonly server: SluiceServer;
  readonly client: Client;

  private constructor(server: SluiceServer, client: Client) {
    this.server = server;
    this.client = client;
  }

  static async open(jumpMs: number): Promise<Jumping> {
    const launch = { node: ['--import', misfortune], env: { MISFORTUNE: `clock ${jumpMs}` } };
    const server = await SluiceServer.start('websocket', [], launch);
    return new Jumping(server, await connect(server.url));
  }

  /** Resolves when the jump shows in the timestamps of the server's log. */
  async jump(): Promise<void> {
    const hourOf = (line: string | undefined) => Date.parse(String((JSON.parse(line ?? '{}') as { time?: string }).time));
    this.server.child.kill('SIGUSR2');
    await eventually(async () => {
      await using _visitor = await connect(this.server.url); // makes the server write a line
      assert.ok(Math.abs(hourOf(this.server.log.at(-1)) - Date.now()) > hourMs / 2);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.server[Symbol.asyncDispose]();
  }
}
