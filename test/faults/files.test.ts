// Files that misbehave: changed under a reader, endless, huge, strangely named, or not files at all. Nothing hangs, and nothing is
// silently short.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type Client, type FileContent, connect } from '#src/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { memoryOf } from '../support/proc.js';
import { Scratch, memoryFolder } from '../support/scratch.js';
import { SluiceServer } from '../support/sluice-server.js';

const mebibyte = 1024 * 1024;

/** Not UTF-8. */
const oddName = Buffer.from([0x6f, 0xff, 0x64]);

guardAgainstLeaks();

describe('a server asked for odd files', () => {
  let server: SluiceServer;
  let client: Client;
  before(async () => {
    server = await SluiceServer.start('websocket');
    client = await connect(server.url);
  });
  after(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  async function restOf(content: FileContent): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of content) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  test('rejects a read of a file that becomes shorter, and goes on', async () => {
    using scratch = new Scratch();
    writeFileSync(scratch.at('file'), Buffer.alloc(16 * mebibyte, 'x'));
    const content = await client.files.readStream(scratch.at('file'));
    truncateSync(scratch.at('file'), 9 * mebibyte); // more than the server has sent, which is at most a window
    await assert.rejects(restOf(content), /file" became shorter while it was read/);
    assert.equal((await client.files.read(scratch.at('file'))).length, 9 * mebibyte);
  });

  test('sends the file that was opened, even if it is removed, replaced or gets longer', async () => {
    using scratch = new Scratch();
    const old = Buffer.alloc(8 * mebibyte, 'old');
    for (const change of ['removed', 'replaced', 'longer'] as const) {
      const file = scratch.at(change);
      writeFileSync(file, old);
      const content = await client.files.readStream(file);
      if (change === 'removed') rmSync(file);
      else if (change === 'longer') writeFileSync(file, 'more', { flag: 'a' });
      else {
        writeFileSync(scratch.at('new'), 'new');
        renameSync(scratch.at('new'), file);
      }
      assert.ok(old.equals(await restOf(content)), change);
    }
  });

  test('lists a folder of 100 000 files completely', async () => {
    using scratch = new Scratch({}, memoryFolder);
    for (let index = 0; index < 100_000; index += 1) closeSync(openSync(scratch.at(`file-${index}`), 'w'));
    const names = new Set((await client.files.list(scratch.path)).map(({ name }) => name));
    assert.equal(names.size, 100_000);
  });

  test('does not follow links in circles', async () => {
    using scratch = new Scratch();
    symlinkSync('two', scratch.at('one'));
    symlinkSync('one', scratch.at('two'));
    symlinkSync('.', scratch.at('self'));
    await assert.rejects(client.files.read(scratch.at('one')), /ELOOP.*one/);
    await assert.rejects(client.files.write(scratch.at('one'), 'x'), /one/);
    const seen: string[] = [];
    for await (const { relativePath } of client.files.walk(scratch.path)) seen.push(relativePath);
    assert.deepEqual(seen, ['one', 'self', 'two']);
    const copied = await client.files.download(scratch.path, scratch.at('copy'), { exclude: ['copy'] });
    assert.deepEqual([copied.links, readdirSync(scratch.at('copy'))], [3, ['one', 'self', 'two']]);
  });

  test('refuses pipes and devices at once', async () => {
    using scratch = new Scratch();
    assert.equal(spawnSync('mkfifo', [scratch.at('pipe')]).status, 0);
    for (const path of [scratch.at('pipe'), '/dev/zero', '/dev/tty']) {
      await assert.rejects(client.files.read(path), (error) => error instanceof Error && error.message.includes(path));
      await assert.rejects(client.files.write(path, 'x'), (error) => error instanceof Error && error.message.includes(path));
    }
    assert.equal((await client.files.stat(scratch.at('pipe'))).kind, 'other');
    const { files, skipped } = await client.files.download(scratch.path, scratch.at('copy'), { exclude: ['copy'] });
    assert.deepEqual([files, skipped.map(({ path }) => path)], [0, ['pipe']]);
  });

  test('serves ranges of a huge file, refuses to read it whole, and streams it with little memory', async () => {
    using scratch = new Scratch();
    const size = 4 * 1024 * mebibyte;
    const file = openSync(scratch.at('sparse'), 'w');
    ftruncateSync(file, size);
    writeSync(file, 'end', size - 3);
    closeSync(file);
    const end = await client.files.read(scratch.at('sparse'), { offset: size - 3 });
    assert.equal(Buffer.from(end).toString(), 'end');
    await assert.rejects(client.files.read(scratch.at('sparse')), /has 4294967296 bytes .* readStream/);
    const { peak } = memoryOf(server.child.pid);
    let bytes = 0;
    for await (const piece of await client.files.readStream(scratch.at('sparse'))) {
      bytes += piece.length;
      if (bytes >= 256 * mebibyte) break;
    }
    assert.ok(memoryOf(server.child.pid).peak - peak < 64 * mebibyte, 'the server held what the client had not read');
  });

  test('names files that are not UTF-8, and transfers them', async () => {
    using scratch = new Scratch();
    const folder = Buffer.from(scratch.at('here/'));
    mkdirSync(scratch.at('here'));
    writeFileSync(Buffer.concat([folder, oddName]), 'odd');
    const [entry] = await client.files.list(scratch.at('here'));
    assert.deepEqual([entry?.name, entry?.path], ['o\ufffdd', `file://${scratch.at('here')}/o%FFd`]);
    assert.equal(await client.files.readText(entry?.path ?? ''), 'odd');
    for (const resume of [false, true]) {
      await client.files.upload(scratch.at('here'), scratch.at('up'), { resume });
      const down = await client.files.download(scratch.at('up'), scratch.at('down'), { resume });
      assert.deepEqual([down.files, down.unchanged], resume ? [0, 1] : [1, 0]);
    }
    assert.deepEqual(readdirSync(scratch.at('down'), { encoding: 'buffer' }), [oddName]);
    await client.files.write(entry?.path ?? '', 'changed');
    assert.equal(readFileSync(Buffer.concat([folder, oddName]), 'utf8'), 'changed');
    await client.files.remove(entry?.path ?? '');
    assert.deepEqual(readdirSync(scratch.at('here')), []);
  });
});
