// Disks that cannot take a file, and a server that is killed while it writes: the old file or the new one is there, never a part.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { isExecError } from '#src/protocol/index.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Scratch } from '../support/scratch.js';
import { SluiceServer } from '../support/sluice-server.js';

const namespace = ['--user', '--map-root-user', '--mount'];
const canMount = spawnSync('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
const skip = canMount ? false : 'this machine lets its users mount nothing';

/** A server that sees a disk of its own in the folder. */
function onDisk(folder: string, prepare: string) {
  return { wrapper: ['unshare', ...namespace, 'sh', '-c', `${prepare} && exec "$@"`, 'sh'], env: { DISK: folder } };
}

describe('a disk', { skip }, () => {
  guardAgainstLeaks();

  test('that is full refuses a write or a transfer, and keeps the old files', async () => {
    using scratch = new Scratch();
    const launch = onDisk(scratch.path, 'mount -t tmpfs -o size=512k tmpfs "$DISK"');
    await using server = await SluiceServer.start('websocket', [], launch);
    await using client = await connect(server.url);
    await client.files.write(scratch.at('file'), 'old');
    const large = new Uint8Array(2 * 1024 * 1024);
    for (const mode of ['replace', 'create'] as const) {
      const writing = client.files.write(scratch.at(mode === 'create' ? 'new' : 'file'), large, { mode });
      await assert.rejects(writing, (error) => isExecError(error, 'fileFailed') && error.message.includes('ENOSPC'));
    }
    using here = new Scratch();
    writeFileSync(here.at('large'), large);
    await assert.rejects(client.files.upload(here.path, scratch.at('tree')), /ENOSPC.*large/);
    await client.files.remove(scratch.at('tree'), { recursive: true, force: true });
    assert.equal(await client.files.readText(scratch.at('file')), 'old');
    assert.deepEqual(
      (await client.files.list(scratch.path)).map(({ name }) => name),
      ['file'],
    );
    await client.files.write(scratch.at('file'), 'new'); // what the failed writes took is free again
  });

  test('that is read-only refuses every change, and can be read', async () => {
    using scratch = new Scratch();
    const launch = onDisk(
      scratch.path,
      'mount -t tmpfs tmpfs "$DISK" && echo old > "$DISK/file" && mount -n -o remount,bind,ro "$DISK"',
    );
    await using server = await SluiceServer.start('websocket', [], launch);
    await using client = await connect(server.url);
    const { files } = client;
    const changes = [
      () => files.write(scratch.at('file'), 'x'),
      () => files.write(scratch.at('file'), 'x', { mode: 'inPlace' }),
      () => files.write(scratch.at('file'), 'x', { mode: 'append' }),
      () => files.write(scratch.at('new'), 'x'),
      () => files.remove(scratch.at('file')),
      () => files.move(scratch.at('file'), scratch.at('moved')),
      () => files.copy(scratch.at('file'), scratch.at('copy')),
      () => files.makeDirectory(scratch.at('folder')),
      () => files.makeTemporary({ parent: scratch.path }),
    ];
    for (const change of changes) await assert.rejects(change(), /EROFS/, String(change));
    assert.equal(await files.readText(scratch.at('file')), 'old\n');
  });
});

describe('a server that is killed', () => {
  guardAgainstLeaks();

  test('while it replaces a file leaves the old one or the new one, and nothing else', async () => {
    using scratch = new Scratch();
    const file = scratch.at('file');
    const old = Buffer.alloc(1024 * 1024, 'old');
    const content = Buffer.alloc(8 * 1024 * 1024, 'new');
    for (let round = 0; round < 8; round += 1) {
      writeFileSync(file, old);
      await using server = await SluiceServer.start('websocket');
      await using client = await connect(server.url, { timeouts: { reconnectMs: 0 } });
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < 8; at += 1) {
          if (at === round) server.child.kill('SIGKILL'); // while earlier pieces are on their way
          yield content.subarray(at * 1024 * 1024, (at + 1) * 1024 * 1024);
        }
      };
      await assert.rejects(client.files.write(file, pieces()));
      const found = readFileSync(file);
      assert.ok(found.equals(old) || found.equals(content), `round ${round}: ${found.length} bytes`);
      await eventually(() => assert.deepEqual(readdirSync(scratch.path), ['file']));
    }
  });
});
