// What `sluice doctor` finds on machines that are not available here: their kernel files are passed in.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runningServer } from '#src/cli/doctor/background.js';
import { examine } from '#src/cli/doctor/checks.js';
import { cgroup, openFiles, ownLimits, processes } from '#src/cli/doctor/limits.js';
import { nodeVersion, platform, processTable } from '#src/cli/doctor/machine.js';
import { terminalRemedy, terminalsLeft } from '#src/cli/doctor/terminal.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

/** A machine with these files and no others. */
function files(texts: Readonly<Record<string, string>>) {
  return (file: string) => texts[file];
}

describe('a check of the doctor', () => {
  guardAgainstLeaks();

  test('that throws is broken, with the message of the error', async () => {
    const look = () => {
      throw new Error('out of order');
    };
    assert.deepEqual(await examine({ name: 'any', look }), { state: 'broken', found: 'out of order' });
  });

  test('that never answers is broken after a timeout', async () => {
    const look = async () => new Promise<never>(() => {});
    assert.deepEqual(await examine({ name: 'any', look }, 10), { state: 'broken', found: 'no answer within 0.01 s' });
  });

  test('accepts Node.js from 20.19 on', () => {
    const states = ['18.20.4', '20.18.3', '20.19.0', '22.0.0'].map((version) => nodeVersion(version).state);
    assert.deepEqual(states, ['broken', 'broken', 'ok', 'ok']);
  });

  test('accepts Linux and macOS, and refers Windows to WSL', () => {
    assert.deepEqual([platform('linux').state, platform('darwin').state], ['ok', 'ok']);
    assert.deepEqual(platform('win32'), {
      state: 'broken',
      found: 'Sluice runs processes on Linux and macOS, but this is win32',
      remedy: 'on Windows, run it inside WSL',
    });
  });

  test('needs a /proc on Linux, and nowhere else', () => {
    const states = [files({ '/proc/self/stat': '1 (x) R' }), files({})].map((read) => processTable('linux', read).state);
    assert.deepEqual(states, ['ok', 'broken']);
    assert.deepEqual(processTable('darwin', files({})), { state: 'ok', found: 'read through ps' });
  });

  test('warns about a background server of another version', () => {
    const server = { executorVersion: '1.0.0', serverPid: 42 };
    assert.deepEqual(runningServer(server, '1.0.0'), { state: 'ok', found: 'runs with pid 42, version 1.0.0' });
    const { state, found } = runningServer(server, '1.1.0');
    assert.deepEqual([state, found], ['warning', 'runs with pid 42, version 1.0.0, but this is 1.1.0']);
  });
});

const unified = {
  '/proc/self/cgroup': '0::/user/build\n',
  '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n',
};

describe('the doctor’s check of the cgroup', () => {
  test('finds none where there is none', () => {
    assert.deepEqual(cgroup(files({ '/proc/self/cgroup': '' })), { state: 'ok', found: 'none' });
    assert.deepEqual(cgroup(files({})), { state: 'ok', found: 'none shown in /proc' });
  });

  test('finds no limits where none are set', () => {
    const texts = { ...unified, '/sys/fs/cgroup/user/build/pids.max': 'max\n', '/sys/fs/cgroup/user/build/memory.max': 'max\n' };
    assert.deepEqual(cgroup(files(texts)), { state: 'ok', found: 'v2: no limit on processes, no limit on memory' });
  });

  test('does not mistake a limit that cannot be seen for no limit', () => {
    const texts = { '/proc/self/cgroup': '0::/\n' };
    assert.deepEqual(cgroup(files(texts)), { state: 'ok', found: 'v2: unknown limit on processes, unknown limit on memory' });
  });

  test('uses the tightest limit of the cgroup and its ancestors', () => {
    const texts = {
      ...unified,
      '/sys/fs/cgroup/user/build/pids.max': '5000\n',
      '/sys/fs/cgroup/user/build/pids.current': '10\n',
      '/sys/fs/cgroup/user/pids.max': '512\n',
      '/sys/fs/cgroup/user/pids.current': '300\n',
      '/sys/fs/cgroup/user/memory.max': '536870912\n',
    };
    assert.deepEqual(cgroup(files(texts)), {
      state: 'warning',
      found: 'v2: 300 of 512 processes in use, 512 MiB of memory; once they are used up, nothing starts (EAGAIN)',
      remedy: 'raise pids.max: --pids-limit for a container, TasksMax= for a systemd unit',
    });
  });

  test('finds the hierarchies of version 1, each by its own name', () => {
    const texts = {
      '/proc/self/cgroup': '5:cpu,pids:/jobs\n4:memory:/\n0::/\n',
      '/proc/self/mountinfo':
        '32 31 0:29 / /sys/fs/cgroup/cpu,pids rw - cgroup cgroup rw,cpu,pids\n' +
        '35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n',
      '/sys/fs/cgroup/cpu,pids/jobs/pids.max': '4096\n',
      '/sys/fs/cgroup/cpu,pids/jobs/pids.current': '96\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    };
    assert.deepEqual(cgroup(files(texts)), { state: 'ok', found: 'v1: 96 of 4096 processes in use, no limit on memory' });
  });

  test('finds a container’s own cgroup when its path is the one seen from outside', () => {
    const texts = {
      '/proc/self/cgroup': '0::/../elsewhere\n',
      '/proc/self/mountinfo': '30 23 0:26 /pod /sys/fs/cgroup ro - cgroup2 cgroup ro\n',
      '/sys/fs/cgroup/pids.max': '1000\n',
      '/sys/fs/cgroup/pids.current': '1\n',
    };
    assert.equal(cgroup(files(texts)).found, 'v2: 1 of 1000 processes in use, no limit on memory');
  });
});

describe('the doctor’s check of limits', () => {
  test('reads the soft ones', async () => {
    const limits =
      'Max processes             100                  200                  processes\nMax open files            unlimited            unlimited            files\n';
    assert.deepEqual(await ownLimits(files({ '/proc/self/limits': limits })), { openFiles: Infinity, processes: 100 });
  });

  test('asks a shell where the kernel has no file for them', async () => {
    const { openFiles: descriptors, processes: tasks } = await ownLimits(files({}));
    assert.deepEqual([descriptors > 0, tasks > 0], [true, true]);
  });

  test('warns when they are low', () => {
    const few = { openFiles: 256, processes: 100 };
    assert.deepEqual([openFiles(few).state, processes(few).state], ['warning', 'warning']);
    const many = { openFiles: 1024, processes: Infinity };
    assert.deepEqual([openFiles(many).state, processes(many).state], ['ok', 'ok']);
  });
});

describe('the doctor’s check of terminals', () => {
  const counts = (used: string) =>
    files({
      '/proc/self/mountinfo': '26 24 0:23 / /dev/pts rw - devpts devpts rw\n',
      '/proc/sys/kernel/pty/max': '4096\n',
      '/proc/sys/kernel/pty/nr': used,
      '/proc/sys/kernel/pty/reserve': '1024\n',
    });

  test('warns when they run out', () => {
    assert.equal(terminalsLeft(counts('12\n')).state, 'ok');
    const { state, found } = terminalsLeft(counts('4090\n'));
    assert.deepEqual([state, found.endsWith('; 4090 of 4096 in use')], ['warning', true]);
  });

  test('names the remedy for a known cause, and none for any other', () => {
    const remedies = [
      terminalRemedy(files({ '/proc/self/mountinfo': '' }), () => true),
      terminalRemedy(counts('0\n'), () => false),
      terminalRemedy(counts('3072\n'), () => true),
    ].map(({ remedy = '' }) => /mount|chmod|sysctl/.exec(remedy)?.[0]);
    assert.deepEqual(remedies, ['mount', 'chmod', 'sysctl']);
    assert.deepEqual(
      terminalRemedy(counts('0\n'), () => true),
      {},
    );
  });
});
