// Children that misbehave: they read nothing, write without end, stop, close their streams, ignore signals or become daemons. They run on a
// real server, whose other clients must not be affected.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Client, type ProcessHandle, connect } from '#src/index.js';
import { isExecError } from '#src/protocol/index.js';
import { bothKinds, env, openPipe, shell, terminal } from '../contract/connector.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { memoryOf } from '../support/proc.js';
import { living } from '../support/processes.js';
import { SluiceServer } from '../support/sluice-server.js';

const mib = 1024 * 1024;
const inputKinds = [
  ['pipes', openPipe],
  ['a terminal', terminal],
] as const;

/** How much a server may grow while a child floods it or never reads: queues, windows, and garbage not yet collected. */
const growthBytes = 100 * mib;

guardAgainstLeaks();

describe('a child', { concurrency: true }, () => {
  let server: SluiceServer;
  before(async () => {
    server = await SluiceServer.start('unix');
  });
  after(async () => {
    await using ending = server;
    await isHealthy(ending);
    assert.equal(await ending.stop(), 0);
  });

  for (const [kind, io] of inputKinds) {
    test(`that never reads ${kind} gets what fits, the rest is refused, and it can still be signalled and ended`, async () => {
      await using client = await connect(server.url);
      const quiet = io === terminal ? 'stty raw -echo; ' : '';
      await using child = await client.start({ ...shell(`${quiet}echo ready; exec sleep 600`), io });
      await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
      const writes = Array.from({ length: 20 }, async () => child.write(new Uint8Array(mib).fill(0x78)).catch(refused));
      await eventually(async () => assert.ok((await Promise.race(writes)) === 'accepted'));
      await isHealthy(server);
      if (io === terminal) await child.resize({ rows: 10, cols: 20 });
      assert.equal(await child.signal('SIGCONT'), true);
      await child.terminate({ forceAfterMs: 20_000 });
      const ending = await child.closed;
      assert.deepEqual([ending.kind === 'signal' && ending.signal, ending.reason], ['SIGTERM', 'terminated']);
      const answers = await Promise.all(writes);
      assert.deepEqual([...new Set(answers)].toSorted(), ['accepted', 'stdinClosed', 'stdinFull']);
    });

    test(`that closes its stdin on ${kind} while it is written to gets no more input and keeps running`, async () => {
      await using client = await connect(server.url);
      await using child = await client.start({ ...shell('exec 0</dev/null; echo shut; exec sleep 600'), io });
      await child.collectUntil({ deadlineMs: 20_000, text: 'shut' });
      if (io === openPipe) {
        await eventually(async () => assert.equal(await child.write('unread'), 'stdinClosed'));
        await child.closeStdin();
      } else await child.write('unread');
      assert.equal((await client.list())[0]?.state, 'running');
    });

    test(`that is stopped on ${kind} gets its waiting input exactly once when it continues`, async () => {
      await using client = await connect(server.url);
      const raw = io === terminal ? 'stty raw -echo; ' : '';
      await using child = await client.start({ ...shell(`${raw}echo ready; exec cat`), io });
      await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
      process.kill(child.pid, 'SIGSTOP');
      for (let number = 0; number < 100; number += 1) await child.write(`${number} `);
      assert.equal((await child.collectUntil({ deadlineMs: 100 })).text.trim(), '');
      await isHealthy(server);
      assert.equal(await child.signal('SIGCONT'), true);
      const expected = Array.from({ length: 100 }, (_, number) => `${number} `).join('');
      const { text } = await child.collectUntil({ deadlineMs: 20_000, text: ' 99 ' });
      assert.equal(text.trimStart(), expected);
    });
  }

  for (const [kind, io] of bothKinds) {
    test(`that is stopped on ${kind} ends on SIGTERM, with everything it started`, async () => {
      await using client = await connect(server.url);
      await using child = await client.start({ ...shell('sleep 600 & echo $!; kill -s STOP $$; wait'), io });
      const { text } = await child.collectUntil({ deadlineMs: 20_000, text: /\d+\r?\n/ });
      await child.terminate({ forceAfterMs: 20_000 });
      const ending = await child.closed;
      assert.deepEqual([ending.kind === 'signal' && ending.signal, ending.reason], ['SIGTERM', 'terminated']);
      assert.deepEqual(await living([child.pid, Number(text)]), []);
    });

    test(`that floods on ${kind} is held back by its reader, and other clients are not`, async () => {
      await using flooded = await SluiceServer.start('unix');
      await using client = await connect(flooded.url);
      const atFirst = residentBytes(flooded);
      await using child = await client.start({ ...shell('yes flood'), io });
      let seen = 0;
      for await (const { bytes } of child.output) {
        seen += bytes.length;
        if (seen > 20 * mib) break;
      }
      await isHealthy(flooded); // while the rest of the flood waits unread
      await eventually(() => assert.ok(residentBytes(flooded) - atFirst < growthBytes));
      await child.terminate({ forceAfterMs: 0 });
      await child.closed;
    });

    test(`that ignores every signal on ${kind} ends by SIGKILL, and its exit says so`, async () => {
      await using client = await connect(server.url);
      const all = Array.from({ length: 31 }, (_, index) => index + 1).filter((number) => ![9, 17, 19].includes(number));
      const script = `trap '' ${all.join(' ')}; echo deaf; while :; do sleep 0.1; done`;
      await using child = await client.start({ ...shell(script), io });
      await child.collectUntil({ deadlineMs: 20_000, text: 'deaf' });
      for (const name of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGPIPE', 'SIGALRM']) await child.signal(name);
      assert.equal((await client.list())[0]?.state, 'running');
      await child.terminate({ forceAfterMs: 100 });
      const ending = await child.closed;
      assert.deepEqual([ending.kind === 'signal' && ending.signal, ending.reason], ['SIGKILL', 'terminated']);
    });

    test(`that closes its streams on ${kind} is still running, and its exit code is reported`, async () => {
      await using client = await connect(server.url);
      await using child = await client.start({ ...shell('echo last words; exec 0<&- 1>&- 2>&-; sleep 0.5; exit 9'), io });
      let text = '';
      for await (const { bytes } of child.output) text += Buffer.from(bytes).toString();
      const ending = await child.closed;
      assert.deepEqual([text.trim(), ending.kind === 'code' && ending.code, ending.outputComplete], ['last words', 9, true]);
    });

    test(`that becomes a daemon on ${kind}, with its streams closed and its parent gone, ends with its session`, async () => {
      const client = await connect(server.url);
      const daemon = `(setsid sh -c 'echo $$; exec 0<&- 1>&- 2>&-; while :; do sleep 1; done' &) ; sleep 0.5`;
      const child = await client.start({ ...shell(daemon), io });
      const pid = await announced(child);
      await child.closed;
      assert.deepEqual(await living([pid]), [pid]);
      await client.close();
      assert.deepEqual(await living([pid]), []);
    });
  }

  test('that repeatedly dies at once while it is written to loses nothing but the write', async () => {
    await using client = await connect(server.url);
    for (let round = 0; round < 30; round += 1) {
      const child = await client.start({ argv: ['true'], env, io: round % 2 === 0 ? openPipe : terminal });
      const writes = await Promise.all([child.write('a'), child.write(new Uint8Array(200_000)), child.write('b')]);
      assert.ok(writes.every((status) => status === 'accepted' || status === 'stdinClosed'));
      await child.terminate({ forceAfterMs: 0 });
      await child.closed;
    }
  });
});

/** Asserts that the server still accepts a client and runs a command for it. */
async function isHealthy(server: SluiceServer): Promise<void> {
  await using client: Client = await connect(server.url);
  const { stdout } = await client.run(['echo', 'healthy'], { env });
  assert.equal(stdout.text, 'healthy\n');
}

function refused(error: unknown): string {
  assert.ok(isExecError(error, 'stdinFull'), String(error));
  return 'stdinFull';
}

async function announced(child: ProcessHandle): Promise<number> {
  const { match } = await child.collectUntil({ deadlineMs: 20_000, text: /\d+\r?\n/ });
  return Number(match);
}

function residentBytes({ child }: SluiceServer): number {
  return memoryOf(child.pid).now;
}
