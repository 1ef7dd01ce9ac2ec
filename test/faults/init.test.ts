// As init of a container, the program inherits the orphans of all processes: it must reap them, and still know which tree each belonged to.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const namespace = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'];
const fixture = fileURLToPath(new URL('../fixtures/init.js', import.meta.url));

// Skipped where the kernel or a sandbox forbids namespaces.
if (process.platform === 'linux' && spawnSync('unshare', [...namespace, 'true']).status === 0) {
  describe('as init of a pid namespace', () => {
    test('orphans are reaped, and a daemon is ended with the process that started it', () => {
      const { stdout, stderr } = spawnSync('unshare', [...namespace, process.execPath, fixture], { encoding: 'utf8' });
      assert.deepEqual(JSON.parse(stdout === '' ? JSON.stringify(stderr) : stdout), { pid: 1, zombies: 0, othersAlive: 0 });
    });
  });
}
