// What `client.files` promises, whatever the connection: every call, and the cases around it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, test } from 'node:test';
import { isExecError } from '#src/protocol/index.js';
import { Scratch, memoryFolder } from '../support/scratch.js';
import type { Connector } from './connector.js';

/** Several windows of a flow, and no multiple of a frame. */
const large = Buffer.alloc(3 * 1024 * 1024 + 17, 'sluice');

function rejectsWith(kind: 'fileNotFound' | 'fileRefused' | 'fileFailed', text: RegExp) {
  return (error: unknown) => isExecError(error, kind) && text.test(error.message);
}

export function fileContract(connector: Connector): void {
  describe('files', () => {
    reading(connector);
    writing(connector);
    looking(connector);
    changing(connector);
  });
}

function reading(connector: Connector): void {
  test('are read as bytes, as text and in ranges', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    writeFileSync(scratch.at('text'), 'grüße, world\n');
    writeFileSync(scratch.at('large'), large);
    writeFileSync(scratch.at('empty'), '');
    assert.equal(await client.files.readText(scratch.at('text')), 'grüße, world\n');
    assert.ok(large.equals(await client.files.read(scratch.at('large'))));
    assert.deepEqual(await client.files.read(scratch.at('empty')), new Uint8Array());
    const part = await client.files.read(scratch.at('large'), { offset: 1_000_001, length: 600_000 });
    assert.ok(large.subarray(1_000_001, 1_600_001).equals(part));
    assert.deepEqual(await client.files.read(scratch.at('text'), { offset: 500 }), new Uint8Array());
    assert.equal((await client.files.read(scratch.at('text'), { offset: 13, length: 500 })).length, 2);
  });

  test('are read piece by piece, with their status', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    writeFileSync(scratch.at('large'), large, { mode: 0o640 });
    const content = await client.files.readStream(scratch.at('large'));
    assert.deepEqual([content.status.kind, content.status.size, content.length], ['file', large.length, large.length]);
    const pieces: Uint8Array[] = [];
    for await (const piece of content) pieces.push(piece.slice());
    assert.ok(pieces.length > 1);
    assert.ok(large.equals(Buffer.concat(pieces)));
  });

  test('can be left in the middle of a read, and the connection goes on', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    writeFileSync(scratch.at('large'), large);
    for (let round = 0; round < 20; round += 1) {
      for await (const _ of await client.files.readStream(scratch.at('large'))) break;
      await using _unread = await client.files.readStream(scratch.at('large'));
    }
    assert.ok(large.equals(await client.files.read(scratch.at('large'))));
  });

  test('without a size, as in /proc, are read to their end', async () => {
    await using client = await connector.connect();
    assert.match(await client.files.readText('/proc/self/status'), /^Name:/);
  });

  test('that cannot be read are refused with their path', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    await assert.rejects(client.files.read(scratch.at('absent')), rejectsWith('fileNotFound', /absent/));
    await assert.rejects(
      client.files.read(scratch.path),
      (error) => error instanceof Error && error.message.includes(scratch.path),
    );
    await assert.rejects(client.files.read('relative'), /absolute/);
    writeFileSync(scratch.at('file'), '');
    assert.deepEqual(
      [await client.files.exists(scratch.at('absent')), await client.files.exists(scratch.at('file', 'x'))],
      [false, false],
    );
  });
}

function writing(connector: Connector): void {
  test('are written from text, bytes and pieces, with a checksum', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    const written = await client.files.write(scratch.at('text'), 'hello');
    const sha256 = createHash('sha256').update('hello').digest('hex');
    assert.deepEqual([written.bytes, written.sha256, written.status.size], [5, sha256, 5]);
    assert.equal(readFileSync(scratch.at('text'), 'utf8'), 'hello');
    await client.files.write(scratch.at('large'), large);
    assert.ok(large.equals(readFileSync(scratch.at('large'))));
    await client.files.write(scratch.at('empty'), new Uint8Array());
    assert.equal(statSync(scratch.at('empty')).size, 0);
    const pieces = async function* () {
      for (let at = 0; at < large.length; at += 100_001) yield large.subarray(at, at + 100_001);
    };
    await client.files.write(scratch.at('pieces'), pieces());
    assert.ok(large.equals(readFileSync(scratch.at('pieces'))));
    await client.files.write(scratch.at('web'), new Blob(['from the ', 'web']).stream());
    assert.equal(readFileSync(scratch.at('web'), 'utf8'), 'from the web');
    assert.deepEqual(readdirSync(scratch.path).toSorted(), ['empty', 'large', 'pieces', 'text', 'web']);
  });

  test('are replaced through links, with their permissions', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    writeFileSync(scratch.at('file'), 'old');
    chmodSync(scratch.at('file'), 0o640);
    symlinkSync('file', scratch.at('link'));
    const before = await client.files.stat(scratch.at('file'));
    const { how, status } = await client.files.write(scratch.at('link'), 'new');
    assert.equal(how, 'renamed');
    assert.notEqual(status.inode, before.inode);
    assert.ok(lstatSync(scratch.at('link')).isSymbolicLink());
    assert.deepEqual([readFileSync(scratch.at('file'), 'utf8'), statSync(scratch.at('file')).mode & 0o777], ['new', 0o640]);
  });

  test('are written in place, appended to, and created, as asked', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    const file = scratch.at('a', 'b', 'file');
    await assert.rejects(client.files.write(file, 'x'), rejectsWith('fileNotFound', /file/));
    const created = await client.files.write(file, 'one', { mode: 'create', createParents: true, permissions: 0o600 });
    assert.deepEqual([created.how, created.status.permissions], ['created', 0o600]);
    await assert.rejects(client.files.write(file, 'x', { mode: 'create' }), /exist/i);
    assert.equal((await client.files.write(file, ', two', { mode: 'append' })).how, 'appended');
    assert.equal(readFileSync(file, 'utf8'), 'one, two');
    const inPlace = await client.files.write(file, 'three', { mode: 'inPlace' });
    assert.deepEqual([inPlace.how, inPlace.status.inode, inPlace.bytes], ['inPlace', created.status.inode, 5]);
    assert.equal(readFileSync(file, 'utf8'), 'three');
  });

  test('are written only if they are still as expected', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    const file = scratch.at('file');
    const { status } = await client.files.write(file, 'mine', { expected: 'absent' });
    await assert.rejects(client.files.write(file, 'again', { expected: 'absent' }), /exists.*file/);
    const second = await client.files.write(file, 'mine too', { expected: status });
    writeFileSync(file, 'of another');
    await assert.rejects(client.files.write(file, 'lost', { expected: second.status }), rejectsWith('fileRefused', /file/));
    assert.equal(readFileSync(file, 'utf8'), 'of another');
    assert.deepEqual(readdirSync(scratch.path), ['file']);
  });

  test('stay as they are when their source fails or the caller gives up', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    writeFileSync(scratch.at('file'), 'old');
    const failing = async function* () {
      yield large;
      throw new Error('the source is broken');
    };
    await assert.rejects(client.files.write(scratch.at('file'), failing()), /^Error: the source is broken$/);
    const stop = new AbortController();
    const endless = async function* () {
      yield large;
      stop.abort(new Error('enough'));
      await new Promise<never>(() => {});
    };
    await assert.rejects(client.files.write(scratch.at('file'), endless(), { signal: stop.signal }), /^Error: enough$/);
    const waiting = async function* (): AsyncGenerator<Uint8Array> {
      yield await new Promise<never>(() => {});
    };
    await assert.rejects(client.files.write(scratch.at('no', 'folder'), waiting()), rejectsWith('fileNotFound', /folder/));
    assert.equal(readFileSync(scratch.at('file'), 'utf8'), 'old');
    assert.deepEqual(readdirSync(scratch.path), ['file']);
  });
}

function looking(connector: Connector): void {
  test('are listed and described', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    writeFileSync(scratch.at('b'), '12345', { mode: 0o600 });
    mkdirSync(scratch.at('a'));
    symlinkSync('nowhere', scratch.at('c'));
    const entries = await client.files.list(scratch.path);
    const kinds = entries.map(({ name, kind, path, target }) => [name, kind, path, target]);
    assert.deepEqual(kinds, [
      ['a', 'directory', scratch.at('a'), undefined],
      ['b', 'file', scratch.at('b'), undefined],
      ['c', 'symlink', scratch.at('c'), 'nowhere'],
    ]);
    const { size, permissions, modifiedAtMs, inode } = await client.files.stat(scratch.at('b'));
    const found = statSync(scratch.at('b'));
    assert.deepEqual([size, permissions, Math.floor(modifiedAtMs)], [5, 0o600, Math.floor(found.mtimeMs)]);
    assert.ok(inode.includes(String(found.ino)));
    assert.equal((await client.files.stat(scratch.at('c'), { followSymlinks: false })).kind, 'symlink');
    await assert.rejects(client.files.stat(scratch.at('c')), rejectsWith('fileNotFound', /c/));
    assert.deepEqual([await client.files.exists(scratch.at('b')), await client.files.exists(scratch.at('c'))], [true, false]);
  });

  test('are walked depth first, over more than a page, as deep as asked', async () => {
    using scratch = new Scratch({}, memoryFolder);
    await using client = await connector.connect();
    const names = Array.from({ length: 6_000 }, (_, index) => `f${String(index).padStart(4, '0')}`);
    mkdirSync(scratch.at('many', 'deep'), { recursive: true });
    for (const name of names) writeFileSync(scratch.at('many', name), '');
    writeFileSync(scratch.at('many', 'deep', 'last'), 'x');
    const seen: string[] = [];
    for await (const { relativePath } of client.files.walk(scratch.path)) seen.push(relativePath);
    assert.deepEqual(seen, ['many', 'many/deep', 'many/deep/last', ...names.map((name) => `many/${name}`)]);
    const top: string[] = [];
    for await (const { relativePath } of client.files.walk(scratch.path, { maxDepth: 0 })) top.push(relativePath);
    assert.deepEqual(top, ['many']);
    assert.equal((await client.files.list(scratch.at('many'))).length, names.length + 1);
    await assert.rejects(client.files.walk(scratch.at('absent')).next(), rejectsWith('fileNotFound', /absent/));
  });
}

function changing(connector: Connector): void {
  test('are copied, moved and removed', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    const { files } = client;
    await files.makeDirectory(scratch.at('one', 'two'));
    writeFileSync(scratch.at('one', 'file'), 'content');
    await files.copy(scratch.at('one', 'file'), scratch.at('copy'));
    assert.equal(readFileSync(scratch.at('copy'), 'utf8'), 'content');
    await assert.rejects(files.copy(scratch.at('one'), scratch.at('tree')), /recursive/);
    await files.copy(scratch.at('one'), scratch.at('tree'), { recursive: true });
    assert.deepEqual(readdirSync(scratch.at('tree')).toSorted(), ['file', 'two']);
    await assert.rejects(files.copy(scratch.at('copy'), scratch.at('one', 'file'), { overwrite: false }), /file/);
    assert.equal(await files.move(scratch.at('copy'), scratch.at('moved')), 'renamed');
    await assert.rejects(files.move(scratch.at('moved'), scratch.at('one', 'file'), { overwrite: false }), /file/);
    assert.deepEqual([existsSync(scratch.at('copy')), existsSync(scratch.at('moved'))], [false, true]);
    await assert.rejects(files.remove(scratch.at('one')), /one/);
    assert.equal(await files.remove(scratch.at('one'), { recursive: true }), true);
    await assert.rejects(files.remove(scratch.at('one')), rejectsWith('fileNotFound', /one/));
    assert.equal(await files.remove(scratch.at('one'), { force: true }), false);
    assert.deepEqual(readdirSync(scratch.path).toSorted(), ['moved', 'tree']);
  });

  test('that are temporary are private, and gone when disposed', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    let names: string[];
    {
      await using file = await client.files.makeTemporary({ parent: scratch.path, prefix: 'mine-' });
      await using folder = await client.files.makeTemporary({ kind: 'directory', parent: scratch.path });
      await client.files.write(`${folder.path}/inside`, 'x');
      names = readdirSync(scratch.path);
      assert.match(file.path, /\/mine-[^/]+$/);
      assert.deepEqual([statSync(file.path).mode & 0o777, statSync(folder.path).mode & 0o777], [0o600, 0o700]);
    }
    assert.deepEqual([names.length, readdirSync(scratch.path)], [2, []]);
  });
}
