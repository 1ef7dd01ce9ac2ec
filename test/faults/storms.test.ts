// The memory that hundreds of processes with much output or large requests cost the server is released again.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { env, openPipe } from '../contract/connector.js';
import { eventually } from '../support/eventually.js';
import { fewerThan } from '../support/few-descriptors.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { memoryOf } from '../support/proc.js';
import { SluiceServer } from '../support/sluice-server.js';

const mib = 1024 * 1024;

/** Concurrent processes in one storm, each writing as much as a log retains. */
const stormProcesses = 290;

/** What a server may keep after a storm: the grown heap, and compiled code. */
const keptBytes = 20 * mib;

/** What it may keep for 500 processes: its bookkeeping. Their environments would be 100 MB. */
const keptOfProcessesBytes = 40 * mib;

/** The server checks for unused memory every few seconds; on a busy machine, collecting it may take longer. */
const returnPatienceMs = 60_000;

describe('a server', { skip: fewerThan(2_048) }, () => {
  guardAgainstLeaks();

  test('releases the memory of each storm of output when it is idle', async () => {
    await using server = await SluiceServer.start('websocket', ['--log-level', 'silent']);
    await storm(server.url, 1);
    const before = heldBytes(server);
    for (let round = 0; round < 3; round += 1) {
      await storm(server.url, stormProcesses);
      await eventually(() => assertKeptAtMost(keptBytes, heldBytes(server) - before), returnPatienceMs);
    }
  });

  test('keeps no environments of running or ended processes', async () => {
    await using server = await SluiceServer.start('websocket', ['--log-level', 'silent', '--keep-closed-ms', '600000']);
    await storm(server.url, 1);
    const before = heldBytes(server);
    await using client = await connect(server.url);
    const large = { ...env, LARGE: 'x'.repeat(100_000), LARGE_TOO: 'x'.repeat(100_000) };
    const run = async (argv: readonly string[]) => client.start({ argv, env: large, io: openPipe });
    const running = await Promise.all(Array.from({ length: 100 }, async () => run(['cat'])));
    for (let count = 0; count < 400; count += 1) {
      const ended = await run(['true']);
      await ended.closed;
    }
    assert.equal((await client.list()).length, 500);
    await eventually(() => assertKeptAtMost(keptOfProcessesBytes, heldBytes(server) - before), returnPatienceMs);
    await Promise.all(running.map(async (child) => child.terminate({ forceAfterMs: 0 })));
  });
});

/** Opens a session, reads everything its processes write, and closes it. */
async function storm(url: string, processes: number): Promise<void> {
  await using client = await connect(url);
  await Promise.all(
    Array.from({ length: processes }, async () => {
      await using child = await client.start({ argv: ['head', '-c', String(mib), '/dev/zero'], env });
      let bytes = 0;
      for await (const chunk of child.output) bytes += chunk.bytes.length;
      assert.equal(bytes, mib);
    }),
  );
}

function assertKeptAtMost(limit: number, kept: number): void {
  assert.ok(kept <= limit, `${Math.round(kept / mib)} MiB more than before`);
}

/** The server's private memory. Node's code, which a storm pages in, stays resident too but is shared by all programs. */
function heldBytes({ child }: SluiceServer): number {
  return memoryOf(child.pid).own;
}
