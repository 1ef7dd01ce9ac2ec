// What /proc shows about one process, and what happens when it cannot be read.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { loadLibc } from '#src/process/linux/libc.js';
import { childrenOf, readLineage, readLinuxEntry } from '#src/process/end/proc-files.js';
import { errnoOf } from '#src/process/start/spawn-failure.js';

const libc = loadLibc();

/** The limit on open files, the same number on every Linux. */
const RLIMIT_NOFILE = 7;

/** Opening anything in `task` fails with EMFILE. */
function withoutDescriptors(task: () => void): void {
  const limit = new BigUint64Array(2);
  libc?.getrlimit(RLIMIT_NOFILE, limit);
  libc?.setrlimit(RLIMIT_NOFILE, BigUint64Array.of(0n, limit[1] ?? 0n));
  try {
    task();
  } finally {
    libc?.setrlimit(RLIMIT_NOFILE, limit);
  }
}

describe('a process in /proc', { skip: !existsSync('/proc/self') }, () => {
  test('that cannot be read is not mistaken for one that has ended', { skip: libc === undefined }, () => {
    let errno: string | undefined;
    withoutDescriptors(() => {
      try {
        readLineage(process.pid);
      } catch (error) {
        errno = errnoOf(error);
      }
    });
    assert.equal(errno, 'EMFILE');
  });

  test('that has ended is recognised as such', () => {
    const { pid } = spawnSync('true');
    assert.deepEqual([readLinuxEntry(pid), readLineage(pid), childrenOf({ pid, threads: 1 })], [undefined, undefined, []]);
  });

  test(
    'whose first thread has ended is alive as long as another one runs',
    { skip: spawnSync('python3', ['-V']).status !== 0 },
    async () => {
      // Only the first thread ends, by the exit system call: 60 on x86_64, 93 elsewhere.
      const script = `import ctypes, platform, threading, time
threading.Thread(target=lambda: (print('ready', flush=True), time.sleep(60))).start()
ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)`;
      const child = spawn('python3', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
      const exit = once(child, 'exit');
      try {
        await once(child.stdout, 'data');
        const pid = child.pid ?? assert.fail('not started');
        while (readLinuxEntry(pid)?.threads !== 2) await new Promise(setImmediate);
        assert.equal(readLinuxEntry(pid)?.isZombie, false);
      } finally {
        child.kill('SIGKILL');
        await exit;
      }
    },
  );

  test('is found among the children of its parent, whichever thread started it', () => {
    const { pid } = process;
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    assert.ok(childrenOf({ pid }).includes(child.pid ?? 0));
    child.kill('SIGKILL');
  });
});
