// A disk without room for logs: work continues, the failure is reported where there is still a way to, and no file stays open.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect, connectInProcess } from '#src/index.js';
import { startAgent } from '#src/runner/index.js';
import { env } from '../contract/connector.js';
import { fixtureAdapter } from '../runner/fixture-adapter.js';
import { withFs } from '../support/changed-fs.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer, program } from '../support/sluice-server.js';

const fixture = fileURLToPath(new URL('../fixtures/full-disk.js', import.meta.url));
const namespace = ['--user', '--map-root-user', '--mount'];
const onTinyDisk = 'mount -t tmpfs -o size=64k tmpfs "$1" && exec "$2" "$3" "$1" "$4"';
const canMount = spawnSync('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

describe('a full disk', () => {
  guardAgainstLeaks();

  test('behind the server’s log does not keep it from serving or from exiting with 0', async () => {
    const full = openSync('/dev/full', 'w');
    await using server = await SluiceServer.start('websocket', ['--log-level', 'debug'], { stderr: full });
    closeSync(full);
    await using client = await connect(server.url);
    for (let round = 0; round < 20; round += 1) {
      assert.equal((await client.run(['echo', 'fine'], { env })).stdout.text, 'fine\n');
    }
    await client.close();
    assert.equal(await server.stop(), 0);
  });

  test('behind the server’s stdout makes it fail to start, because it cannot print its address', () => {
    const full = openSync('/dev/full', 'w');
    const { status } = spawnSync(process.execPath, ['--', program, 'serve', '--listen', 'ws://127.0.0.1:0'], {
      stdio: ['ignore', full, 'ignore'],
      timeout: 20_000,
    });
    closeSync(full);
    assert.ok(status !== 0 && status !== null, String(status));
  });

  for (const [moment, expected] of [
    [
      'later',
      {
        turn: 'completed',
        outcome: 'completed',
        logProblem: 'ENOSPC',
        statuses: ['the log can no longer be written'],
        isReadable: true,
        openLogs: 0,
      },
    ],
    ['atOnce', { refused: 'ENOSPC', openLogs: 0 }],
  ] as const) {
    test(`behind a run’s log ${moment === 'later' ? 'lets the run complete' : 'refuses a new run'}`, { skip: whyNot() }, () => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
      const args = ['sh', '-c', onTinyDisk, 'sh', folder, process.execPath, fixture, moment];
      const { stdout, stderr } = spawnSync('unshare', [...namespace, ...args], { encoding: 'utf8' });
      rmSync(folder, { recursive: true });
      assert.deepEqual(JSON.parse(stdout === '' ? JSON.stringify(stderr) : stdout), expected);
    });
  }

  test(
    'behind a run’s log is reported once on stderr by the command line, which keeps the run’s exit status',
    { skip: whyNot() },
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
      const command = 'mount -t tmpfs -o size=64k tmpfs "$1" && shift && exec "$@"';
      const agent = ['sh', '-c', 'read -r line; head -c 200000 /dev/zero | tr "\\0" x; echo; echo "{\\"type\\":\\"result\\"}"'];
      const run = [
        process.execPath,
        '--',
        program,
        'agent',
        'run',
        '--adapter',
        'jsonl',
        '--log-dir',
        folder,
        'x',
        '--',
        ...agent,
      ];
      const { status, stderr } = spawnSync('unshare', [...namespace, 'sh', '-c', command, 'sh', folder, ...run], {
        encoding: 'utf8',
      });
      rmSync(folder, { recursive: true });
      assert.equal(status, 0);
      assert.match(stderr, /^sluice: the log of this run is incomplete: ENOSPC: .*\n$/);
    },
  );

  test('that shows only when a run’s log is closed does not lose the outcome', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    await using client = connectInProcess();
    const run = startAgent({ client, adapter: fixtureAdapter(), cwd: '/', env, prompt: 'hello', logDir: folder });
    await run.firstTurn.result;
    const fsyncSync = () => {
      throw Object.assign(new Error('ENOSPC: no space left on device, fsync'), { code: 'ENOSPC' });
    };
    const { kind, logProblem } = await withFs({ fsyncSync }, async () => run.finish());
    rmSync(folder, { recursive: true });
    assert.deepEqual([kind, logProblem], ['completed', 'ENOSPC: no space left on device, fsync']);
  });
});

function whyNot(): string | false {
  return canMount ? false : 'a separate disk needs a mount, which is not allowed here';
}
