// A server that runs out of descriptors refuses what it cannot do, with a reason, keeps what it has, and recovers once some are free.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Client, connect } from '#src/index.js';
import { isExecError } from '#src/protocol/index.js';
import { bothKinds, env, openPipe, shell } from '../contract/connector.js';
import { eventually, settled } from '../support/eventually.js';
import { fewerThan } from '../support/few-descriptors.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { descriptorCount, watchdogsOf } from '../support/proc.js';
import { living } from '../support/processes.js';
import { giveDescriptors, leaveDescriptors, setSoftLimit, takeDescriptors } from '../support/rlimits.js';
import { SluiceServer } from '../support/sluice-server.js';

/** More than any process needs, including its watchdog. */
const mostNeeded = 16;

const kinds = [...bothKinds, ['a pipe with stdin', openPipe]] as const;

describe('without descriptors', { concurrency: true, skip: fewerThan(1_024) }, () => {
  guardAgainstLeaks();

  for (const moment of ['first', 'later'] as const) {
    test(`a ${moment} start fails with spawnFailed, and works again once some are free`, async () => {
      await using server = await SluiceServer.start('websocket');
      await using client = await connect(server.url);
      if (moment === 'later') await succeed(client);
      takeDescriptors(pidOf(server));
      for (const [kind, io] of kinds) assert.equal(await failureOf(client, io), 'outOfResources', kind);
      giveDescriptors(pidOf(server));
      await succeed(client);
    });
  }

  test('with any number left, a start either works completely or fails and releases all it took', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url);
    await succeed(client);
    const openBefore = openDescriptors(server);
    for (let free = 0; free <= mostNeeded; free += 1) {
      for (const [kind, io] of kinds) {
        leaveDescriptors(pidOf(server), free);
        const failure = await failureOf(client, io);
        assert.ok(
          failure === undefined ? free >= 2 : failure === 'outOfResources' && free < 6,
          `${free} for ${kind}: ${failure}`,
        );
        const withFd3 = await failureOf(client, io, 'descriptor 3');
        assert.ok(
          withFd3 === undefined ? free >= 3 : withFd3 === 'outOfResources' && free < 8,
          `${free} for ${kind} and descriptor 3: ${withFd3}`,
        );
      }
    }
    giveDescriptors(pidOf(server));
    await eventually(() => assert.equal(openDescriptors(server), openBefore));
  });

  test('nothing is started that would outlive a killed server', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url, { timeouts: { reconnectMs: 0 } });
    await succeed(client);
    const [watchdog] = watchdogsOf(pidOf(server));
    await settled(async () => openDescriptors(server)); // wait until those of the ended process are closed
    takeDescriptors(pidOf(server));
    process.kill(watchdog ?? assert.fail('no watchdog'), 'SIGKILL');
    await eventually(async () => assert.deepEqual(watchdogsOf(pidOf(server)), []));
    leaveDescriptors(pidOf(server), 2); // enough for a terminal, too few for a watchdog
    assert.equal(await failureOf(client, { kind: 'pty', rows: 24, cols: 80 }), 'outOfResources');
    giveDescriptors(pidOf(server));
    const child = await client.start(shell('sleep 60'));
    await server.stop('SIGKILL');
    await eventually(async () => assert.deepEqual(await living([child.pid]), []));
  });

  test('running processes can still be written to, read and ended', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url);
    await using child = await client.start({ ...shell('while read -r line; do echo "got $line"; done'), io: openPipe });
    await using deaf = await client.start(shell('trap "" TERM; echo ready; while :; do sleep 0.1; done'));
    await deaf.collectUntil({ deadlineMs: 20_000, text: 'ready' });
    takeDescriptors(pidOf(server));
    await child.write('hello\n');
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'hello' })).reason, 'text');
    await child.closeStdin();
    const ended = await child.exit;
    assert.deepEqual([ended.kind === 'code' && ended.code, ended.outputComplete], [0, true]);
    await deaf.terminate({ forceAfterMs: 100 });
    const killed = await deaf.exit;
    assert.deepEqual([killed.kind === 'signal' && killed.signal, killed.reason], ['SIGKILL', 'terminated']);
    giveDescriptors(pidOf(server));
    await deaf.closed;
  });

  for (const kind of ['websocket', 'unix'] as const) {
    for (const [how, take] of [
      ['when all are in use', takeDescriptors],
      ['when more are in use than allowed', (pid: number) => setSoftLimit(pid, { name: 'nofile', value: 4 })],
    ] as const) {
      test(`no new client connects over a ${kind} ${how}; connected ones stay, and new ones connect later`, async () => {
        await using server = await SluiceServer.start(kind);
        await using client = await connect(server.url);
        await succeed(client);
        take(pidOf(server));
        await assert.rejects(connect(server.url, { timeouts: { connectMs: 300, initializeMs: 300 } }));
        assert.deepEqual((await client.list()).length, 1);
        giveDescriptors(pidOf(server));
        await using later = await connect(server.url);
        await succeed(later);
      });
    }
  }
});

const namespace = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'];
const initFixture = fileURLToPath(new URL('../fixtures/starved-init.js', import.meta.url));

// Skipped where the kernel or a sandbox forbids namespaces.
if (spawnSync('unshare', [...namespace, 'true']).status === 0) {
  test('without descriptors as init of a container, looking for orphans fails and is retried', { skip: fewerThan(1_024) }, () => {
    const { stdout, stderr, status } = spawnSync('unshare', [...namespace, process.execPath, initFixture], {
      encoding: 'utf8',
    });
    assert.deepEqual([stdout, stderr, status], ['alive and collecting\n', '', 0]);
  });
}

function pidOf(server: SluiceServer): number {
  return server.child.pid ?? assert.fail('no server');
}

async function succeed(client: Client): Promise<void> {
  const { stdout, ending } = await client.run(['echo', 'fine'], { env });
  assert.deepEqual([stdout.text, ending.kind === 'code' && ending.code], ['fine\n', 0]);
}

/** Why the start failed, or undefined if it worked, in which case the process has exited with 0 and with complete output. */
async function failureOf(client: Client, io: (typeof kinds)[number][1], more?: 'descriptor 3'): Promise<string | undefined> {
  const fd3 = Buffer.from('whole\n');
  const reader = {
    program: '/bin/sh',
    argv: ['sh', '-c', 'cat <&3'],
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '' },
    io,
    fd3,
  };
  try {
    await using child = await client.start(more === undefined ? { ...shell('echo whole'), io } : { prepared: reader });
    const seen = await child.collectUntil({ deadlineMs: 20_000 });
    const ending = await child.closed;
    assert.deepEqual([seen.text.trim(), ending.kind === 'code' && ending.code, ending.outputComplete], ['whole', 0, true]);
    return undefined;
  } catch (error) {
    assert.ok(isExecError(error, 'spawnFailed'), String(error));
    return error.data.failure;
  }
}

function openDescriptors(server: SluiceServer): number {
  return descriptorCount(pidOf(server));
}
