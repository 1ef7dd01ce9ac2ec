// What remains of a file that is being replaced when the program is killed, the disk is full, or the folder is not ours.

import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { after, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ReplaceGuard } from '#src/files/replace-guard.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Random } from '../support/random.js';

guardAgainstLeaks();

const fixture = fileURLToPath(new URL('../fixtures/replacing.js', import.meta.url));
// Root's own folder for temporary files may be closed to the user as whom some of these tests run.
const base = mkdtempSync(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'sluice-replace-kill-'));
chmodSync(base, 0o755);
const folder = join(base, 'folder');
const file = join(folder, 'file');
after(() => rmSync(base, { recursive: true }));
beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
});

describe('a program killed at any moment', () => {
  for (const kind of ['unnamed', 'named'] as const) {
    test(`leaves the old file or the new one, and no other name (${kind})`, async () => {
      const random = new Random(16);
      for (let round = 0; round < 15; round += 1) {
        writeFileSync(file, '3\nold');
        const program = spawn(process.execPath, [fixture, 'forever', file, kind], { stdio: ['ignore', 'pipe', 'inherit'] });
        await steps(program, random.below(100));
        program.kill('SIGKILL');
        await once(program, 'close');
        const [count, text = ''] = readFileSync(file, 'utf8').split('\n');
        assert.match(text, /^(?:(.)\1*|old)$/);
        assert.equal(text.length, Number(count));
        await eventually(() => assert.deepEqual(readdirSync(folder), ['file']));
      }
    });
  }
});

describe('a file is not replaced, and keeps its old contents,', () => {
  const namespace = ['--user', '--map-root-user', '--mount'];
  const canMount = spawnSync('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
  const skip = canMount ? false : 'user namespaces cannot mount here';

  for (const kind of ['unnamed', 'named'] as const) {
    test(`if the disk is full (${kind})`, { skip }, () => {
      const script =
        'mount -t tmpfs -o size=64k tmpfs "$1" && head -c 40000 /dev/zero >"$1/file" && exec "$2" "$3" once "$1/file" "$4" "$5"';
      const args = [folder, process.execPath, fixture, kind, 'x'.repeat(100_000)];
      const { stdout, stderr } = spawnSync('unshare', [...namespace, 'sh', '-c', script, 'sh', ...args], { encoding: 'utf8' });
      const expected = { error: 'ENOSPC: no space left on device, write "FILE"', bytes: 40_000, names: ['file'] };
      assert.deepEqual(JSON.parse(stdout === '' ? JSON.stringify(stderr) : stdout), expected);
    });
  }
});

describe('a file is written in place', () => {
  test('if its folder takes no new files', () => {
    writeFileSync(file, 'old and long');
    giveAway(file);
    chmodSync(folder, 0o555);
    const result = replaceAsUser('new');
    chmodSync(folder, 0o755);
    assert.deepEqual(result, { how: 'inPlace', now: 'new', names: ['file'] });
  });

  test('if its folder may be entered, but not read', () => {
    writeFileSync(file, 'old');
    giveAway(file);
    chmodSync(folder, 0o111);
    const result = replaceAsUser('new');
    chmodSync(folder, 0o755);
    assert.deepEqual(result, { how: 'inPlace', now: 'new', names: [] });
  });

  test('if it belongs to another user, and would not any more after a rename', { skip: whyNotRoot() }, () => {
    writeFileSync(file, 'old');
    chmodSync(file, 0o666);
    chmodSync(folder, 0o777);
    assert.deepEqual(replaceAsUser('new'), { how: 'inPlace', now: 'new', names: ['file'] });
  });

  test('if it is a mount point', { skip: whyNotRoot() }, () => {
    const script =
      'echo -n old >"$1.mounted"; touch "$1"; mount --bind "$1.mounted" "$1" && exec "$2" "$3" once "$1" unnamed new';
    const args = ['--mount', 'sh', '-c', script, 'sh', file, process.execPath, fixture];
    const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
    const expected = { how: 'inPlace', now: 'new', names: ['file', 'file.mounted'] };
    assert.deepEqual(JSON.parse(stdout === '' ? JSON.stringify(stderr) : stdout), expected);
    assert.equal(readFileSync(`${file}.mounted`, 'utf8'), 'new');
  });

  test('but not if it may not be written to', () => {
    writeFileSync(file, 'old');
    giveAway(folder);
    giveAway(file);
    chmodSync(file, 0o444);
    assert.deepEqual(replaceAsUser('new'), { error: 'EACCES: permission denied, access "FILE"', bytes: 3, names: ['file'] });
  });
});

describe('the guard of temporary files', () => {
  const names = ['plain', 'two words', '-rf', 'new\nline\n', 'a\\0b', '%s%n', '$(touch x)', '`x`', '*', '"', "'"].map((name) =>
    Buffer.from(name),
  );
  const paths = [...names, Buffer.from('\xe4\xff', 'latin1'), Buffer.from('n'.repeat(255))].map((name) =>
    Buffer.concat([Buffer.from(`${folder}/`), name]),
  );

  test('starts nothing before the first name', async () => {
    const guard = new ReplaceGuard();
    assert.equal(guard.pid, undefined);
    await guard.close();
  });

  test('removes files of any name, and no others', async () => {
    const guard = new ReplaceGuard();
    for (const path of paths) {
      guard.add(path);
      writeFileSync(path, '');
    }
    writeFileSync(join(folder, 'plai'), '');
    const kept = paths.filter((_, index) => index % 3 === 0);
    for (const path of kept) guard.remove(path);
    await guard.close();
    const left = readdirSync(folder, 'latin1').toSorted();
    assert.deepEqual(left, ['plai', ...kept.map((path) => path.toString('latin1').slice(folder.length + 1))].toSorted());
  });

  test('is replaced when it is killed', async () => {
    const guard = new ReplaceGuard();
    guard.add(file);
    writeFileSync(file, '');
    const first = guard.pid ?? 0;
    process.kill(first, 'SIGKILL');
    await eventually(() => assert.ok(guard.pid !== undefined && guard.pid !== first));
    await guard.close();
    assert.ok(!existsSync(file));
  });

  test('is replaced when it is stopped and does not read any more', async () => {
    const guard = new ReplaceGuard();
    guard.add(file);
    writeFileSync(file, '');
    const first = guard.pid ?? 0;
    process.kill(first, 'SIGSTOP');
    for (let round = 0; round < 20_000 && guard.pid === first; round += 1) {
      guard.add('/nowhere');
      guard.remove('/nowhere');
    }
    assert.notEqual(guard.pid, first);
    await guard.close();
    assert.ok(!existsSync(file));
  });
});

/** Resolves when the program has printed more than so many characters. */
async function steps(program: ChildProcessByStdio<null, Readable, null>, count: number): Promise<void> {
  for (let seen = 0; seen <= count;) {
    const [chunk] = (await once(program.stdout, 'data')) as [Buffer];
    seen += chunk.length;
  }
}

/** Root may write everywhere; the tests above are about users who may not. */
function replaceAsUser(contents: string): unknown {
  const user = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
  const [command, ...args] = [...user, process.execPath, fixture, 'once', file, 'unnamed', contents];
  const { stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: '/tmp' },
  });
  return JSON.parse(stdout === '' ? JSON.stringify(stderr) : stdout);
}

function giveAway(path: string): void {
  if (process.getuid?.() === 0) chownSync(path, 65534, 65534);
}

function whyNotRoot(): string | false {
  return process.getuid?.() === 0 ? false : 'needs root';
}
