// Paths that another user has prepared: our data never ends up where others can see it, and their files are neither touched nor trusted.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { RunLog, type RunHeader } from '#src/runner/run-log.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overUnixSocket } from '../support/raw-connections.js';
import { SluiceServer, program } from '../support/sluice-server.js';

guardAgainstLeaks();

/** Root can change the owner of files, and so act as the other user. */
const noOtherUser = process.getuid?.() === 0 ? false : 'only root can act as another user';
const otherUid = 65_534;

/** A world-writable folder, like /tmp. */
class SharedFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'sluice-'));
  readonly place = join(this.path, 'socket');

  constructor() {
    chmodSync(this.path, 0o1777);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

function stateOf({ path, place }: SharedFolder) {
  const { ino, mode, uid, mtimeMs } = lstatSync(place);
  return { ino, mode, uid, mtimeMs, names: readdirSync(path) };
}

function serveAt(place: string): { status: number | null; stderr: string } {
  return spawnSync(process.execPath, ['--', program, 'serve', '--listen', `unix://${place}`], {
    encoding: 'utf8',
    timeout: 20_000,
  });
}

/** Leaves the socket file of a server that was killed. */
function leaveDeadSocket(place: string): void {
  const script = `require('node:net').createServer().listen(${JSON.stringify(place)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
  assert.ok(lstatSync(place).isSocket());
}

describe('the path of a Unix socket, prepared by another user,', { skip: noOtherUser }, () => {
  for (const [what, prepare] of [
    ['with a file', (place: string) => writeFileSync(place, 'theirs', { mode: 0o666 })],
    ['with a folder', (place: string) => mkdirSync(place, { mode: 0o777 })],
    ['with a link to a file of ours', (place: string) => symlinkSync(program, place)],
    ['with a link to nothing', (place: string) => symlinkSync(join(place, '..', 'nothing'), place)],
    ['with a link to a dead socket', (place: string) => (leaveDeadSocket(`${place}-dead`), symlinkSync(`${place}-dead`, place))],
  ] as const) {
    test(`${what} is refused and left as it was`, () => {
      using folder = new SharedFolder();
      prepare(folder.place);
      lchownSync(folder.place, otherUid, otherUid);
      const before = stateOf(folder);
      const ours = readFileSync(program);
      const { status, stderr } = serveAt(folder.place);
      assert.equal(status, 125);
      assert.match(stderr, /a file that is not a socket is in the way; it was left alone/);
      assert.deepEqual(stateOf(folder), before);
      assert.deepEqual(readFileSync(program), ours);
    });
  }

  test('with the socket of their running server is refused', async () => {
    using folder = new SharedFolder();
    const theirs = createServer((socket) => socket.destroy()).listen(folder.place);
    await once(theirs, 'listening');
    chownSync(folder.place, otherUid, otherUid);
    chmodSync(folder.place, 0o777);
    const { status, stderr } = serveAt(folder.place);
    assert.deepEqual([status, lstatSync(folder.place).uid], [125, otherUid]);
    assert.match(stderr, /a server is listening there already|may be in use/);
    theirs.close();
    await once(theirs, 'close');
  });

  test('with the socket of their dead server is replaced by one that only we can use', async () => {
    using folder = new SharedFolder();
    leaveDeadSocket(folder.place);
    chownSync(folder.place, otherUid, otherUid);
    chmodSync(folder.place, 0o777);
    await using server = await SluiceServer.start('unix', ['--listen', `unix://${folder.place}`]);
    const { uid, mode } = lstatSync(folder.place);
    assert.deepEqual([uid, mode & 0o777], [process.getuid?.(), 0o600]);
    await using peer = await overUnixSocket(`unix://${folder.place}`);
    await peer.greet();
    assert.deepEqual(readdirSync(folder.path), ['socket']);
    assert.equal(await server.stop(), 0);
  });
});

describe('the log of a run', () => {
  const header: RunHeader = { type: 'run', runId: 'run-1', adapter: 'fixture', cwd: '/', at: 1 };

  test('in a folder that is a symlink is accessible only to its owner', () => {
    using folder = new SharedFolder();
    mkdirSync(join(folder.path, 'real'), { mode: 0o777 });
    symlinkSync(join(folder.path, 'real'), join(folder.path, 'logs'));
    new RunLog(join(folder.path, 'logs'), header).close();
    const { mode, uid } = statSync(join(folder.path, 'real', 'run-1.jsonl'));
    assert.deepEqual([mode & 0o777, uid], [0o600, process.getuid?.()]);
  });

  test('is not written through a symlink at its path', () => {
    using folder = new SharedFolder();
    const precious = join(folder.path, 'precious');
    writeFileSync(precious, 'precious');
    mkdirSync(join(folder.path, 'logs'));
    symlinkSync(precious, join(folder.path, 'logs', 'run-1.jsonl'));
    assert.throws(() => new RunLog(join(folder.path, 'logs'), header), { code: 'EEXIST' });
    symlinkSync(join(folder.path, 'nowhere'), join(folder.path, 'logs', 'run-2.jsonl'));
    assert.throws(() => new RunLog(join(folder.path, 'logs'), { ...header, runId: 'run-2' }), { code: 'EEXIST' });
    assert.equal(readFileSync(precious, 'utf8'), 'precious');
    assert.deepEqual(readdirSync(folder.path).toSorted(), ['logs', 'precious']);
  });
});
