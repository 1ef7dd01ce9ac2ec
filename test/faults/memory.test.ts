// When the process limit is reached or memory runs out, a start is refused with a reason, and the server keeps working.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Client, connect } from '#src/index.js';
import { type Io, isExecError } from '#src/protocol/index.js';
import { bothKinds, env, openPipe, shell, terminal } from '../contract/connector.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { descriptorCount } from '../support/proc.js';
import { setSoftLimit } from '../support/rlimits.js';
import { SluiceServer, program } from '../support/sluice-server.js';

/** Runs the server as an ordinary user, because RLIMIT_NPROC does not apply to root. */
const asOrdinaryUser = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];

/** Why the server cannot run as that user, or false. */
const cannotSwitchUser = reasonAgainst([...asOrdinaryUser, process.execPath, program, '--version']);

const failingLibc = fileURLToPath(new URL('../fixtures/failing-libc.js', import.meta.url));

describe('a server', { concurrency: true }, () => {
  guardAgainstLeaks();

  test('at its process limit refuses starts, keeps its processes, and recovers', { skip: cannotSwitchUser }, async () => {
    await using server = await SluiceServer.start('websocket', [], { wrapper: asOrdinaryUser });
    await using client = await connect(server.url);
    const pid = server.child.pid ?? 0;
    await using running = await client.start({ ...shell('exec cat'), io: openPipe });
    setSoftLimit(pid, { name: 'nproc', value: 1, as: asOrdinaryUser });
    for (const [, io] of bothKinds) assert.match(await problemOf(client, io), /outOfResources .*EAGAIN/);
    await running.write('still here');
    assert.equal((await running.collectUntil({ deadlineMs: 20_000, text: 'here' })).reason, 'text');
    setSoftLimit(pid, { name: 'nproc', value: 'hard', as: asOrdinaryUser });
    await succeeds(client);
  });

  test('that cannot start a watchdog refuses its first process with that reason', { skip: cannotSwitchUser }, async () => {
    await using server = await SluiceServer.start('websocket', [], { wrapper: asOrdinaryUser });
    await using client = await connect(server.url);
    const pid = server.child.pid ?? 0;
    setSoftLimit(pid, { name: 'nproc', value: 1, as: asOrdinaryUser });
    assert.match(await problemOf(client, bothKinds[0][1]), /outOfResources cannot start the watchdog/);
    setSoftLimit(pid, { name: 'nproc', value: 'hard', as: asOrdinaryUser });
    await succeeds(client);
  });

  for (const failure of ['posix_spawn ENOMEM', 'posix_spawn EAGAIN', 'pipe2 ENFILE', 'pipe2 ENOMEM', 'ptsname_r ENOMEM']) {
    test(`refuses a start when the kernel fails with ${failure}, leaks nothing, and recovers`, async () => {
      const launch = { node: ['--import', failingLibc], env: { LIBC_FAILURE: failure } };
      await using server = await SluiceServer.start('websocket', [], launch);
      await using client = await connect(server.url);
      await succeeds(client);
      const descriptors = descriptorCount(server.child.pid);
      server.child.kill('SIGUSR2');
      const [, errno = ''] = failure.split(' ');
      const failing = failure.startsWith('ptsname_r')
        ? [terminal]
        : failure.startsWith('pipe2')
          ? [openPipe]
          : [openPipe, terminal];
      const isRefused = async (io: Io) => assert.match(await problemOf(client, io), new RegExp(`outOfResources .*${errno}`));
      for (const io of failing) await eventually(async () => isRefused(io)); // the signal arrives asynchronously
      await eventually(() => assert.equal(descriptorCount(server.child.pid), descriptors));
      server.child.kill('SIGUSR2');
      await eventually(async () => succeeds(client));
    });
  }
});

async function succeeds(client: Client): Promise<void> {
  const { stdout } = await client.run(['echo', 'fine'], { env });
  assert.equal(stdout.text, 'fine\n');
}

async function problemOf(client: Client, io: Io): Promise<string> {
  try {
    await using _child = await client.start({ ...shell('true'), io });
    return 'started';
  } catch (error) {
    assert.ok(isExecError(error, 'spawnFailed'), String(error));
    return `${error.data.failure} ${error.data.problem}`;
  }
}

function reasonAgainst([command = '', ...args]: readonly string[]): string | false {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? false : `the server cannot run as an ordinary user here: ${error?.message ?? stderr.trim()}`;
}
