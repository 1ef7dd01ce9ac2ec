// As init of a container the program gets everybody's orphans: it must collect them, and still know whose they were.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const namespace = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'];
const fixture = fileURLToPath(new URL('../fixtures/init.js', import.meta.url));

// Where the kernel or a sandbox forbids namespaces there is no init to be.
if (process.platform === 'linux' && spawnSync('unshare', [...namespace, 'true']).status === 0) {
  describe('as init of a pid namespace', () => {
    test('orphans are collected, and a daemon is ended with its process', () => {
      const { stdout, stderr } = spawnSync('unshare', [...namespace, process.execPath, fixture], { encoding: 'utf8' });
      assert.deepEqual(JSON.parse(stdout === '' ? JSON.stringify(stderr) : stdout), { pid: 1, zombies: 0, othersAlive: 0 });
    });
  });
}
