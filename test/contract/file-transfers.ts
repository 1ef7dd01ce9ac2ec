// What watches and transfers of `client.files` promise, whatever the connection.

import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { FileEvent, FileWatch } from '#src/client/index.js';
import { Scratch, memoryFolder } from '../support/scratch.js';
import type { Connector } from './connector.js';

export function fileTransferContract(connector: Connector): void {
  describe('a watch', () => watches(connector));
  describe('a transfer', () => transfers(connector));
}

/** Reads until this change; fails if the watch ends first. */
async function until(watch: FileWatch, wanted: FileEvent): Promise<void> {
  const seen: FileEvent[] = [];
  for (let next = await watch.next(); next.done !== true; next = await watch.next()) {
    seen.push(next.value);
    if (JSON.stringify(next.value) === JSON.stringify(wanted)) return;
  }
  assert.fail(`the watch ended after ${JSON.stringify(seen)}`);
}

function watches(connector: Connector): void {
  test('reports what is created, changed, moved and removed in a folder', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    await using watch = client.files.watch(scratch.path);
    await watch.ready;
    writeFileSync(scratch.at('one'), '');
    await until(watch, { kind: 'created', path: scratch.at('one') });
    appendFileSync(scratch.at('one'), 'more');
    await until(watch, { kind: 'changed', path: scratch.at('one') });
    renameSync(scratch.at('one'), scratch.at('two'));
    await until(watch, { kind: 'moved', path: scratch.at('two'), from: scratch.at('one') });
    rmSync(scratch.at('two'));
    await until(watch, { kind: 'removed', path: scratch.at('two') });
  });

  test('covers folders below it, also new ones, if it is recursive', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    await using watch = client.files.watch(scratch.path, { recursive: true });
    await watch.ready;
    mkdirSync(scratch.at('a', 'b'), { recursive: true });
    writeFileSync(scratch.at('a', 'b', 'file'), 'x');
    await until(watch, { kind: 'created', path: scratch.at('a', 'b', 'file') });
  });

  test('ends with its reader, and by itself when what it watches is gone', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    mkdirSync(scratch.at('folder'));
    const watch = client.files.watch(scratch.at('folder'));
    await watch.ready;
    writeFileSync(scratch.at('folder', 'file'), '');
    for await (const _ of watch) break;
    assert.deepEqual(await watch.next(), { done: true, value: undefined });
    const second = client.files.watch(scratch.at('folder'));
    await second.ready;
    rmSync(scratch.at('folder'), { recursive: true });
    for await (const _ of second); // ends
    const third = client.files.watch(scratch.at('folder'));
    await assert.rejects(third.ready, /folder/);
    await assert.rejects(third.next(), /folder/);
  });

  test('ends when its client does', async () => {
    using scratch = new Scratch();
    const client = await connector.connect();
    const watch = client.files.watch(scratch.path);
    await watch.ready;
    const reading = watch.next();
    await client.close();
    assert.deepEqual(await reading, { done: true, value: undefined });
  });
}

/** Everything in a folder: its kind, its content or target, and its permissions. */
function treeOf(folder: string): Record<string, unknown> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  return Object.fromEntries(
    names.map((name) => {
      const path = join(folder, name);
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) return [name, readlinkSync(path)];
      const mode = (stats.mode & 0o777).toString(8);
      return [name, stats.isDirectory() ? `folder ${mode}` : [mode, Math.floor(stats.mtimeMs), readFileSync(path, 'base64')]];
    }),
  );
}

function makeTree(folder: string): void {
  mkdirSync(join(folder, 'sub', 'empty'), { recursive: true });
  for (let index = 0; index < 300; index += 1) writeFileSync(join(folder, 'sub', `small-${index}`), `content ${index}`);
  writeFileSync(join(folder, 'large'), Buffer.alloc(3_000_001, 'tree'));
  writeFileSync(join(folder, 'run.sh'), '#!/bin/sh\n');
  chmodSync(join(folder, 'run.sh'), 0o755);
  utimesSync(join(folder, 'run.sh'), 1_000_000, 1_000_000);
  symlinkSync('sub/small-1', join(folder, 'link'));
  symlinkSync('nowhere', join(folder, 'dangling'));
}

function transfers(connector: Connector): void {
  test('of a folder in either direction makes an equal one, and says what it did', async () => {
    using scratch = new Scratch({}, memoryFolder);
    await using client = await connector.connect();
    mkdirSync(scratch.at('here'));
    makeTree(scratch.at('here'));
    const progress: number[] = [];
    const counts = { files: 302, folders: 2, links: 2, unchanged: 0, skipped: [], skippedCount: 0 };
    const up = await client.files.upload(scratch.at('here'), scratch.at('there'), {
      onProgress: ({ bytes }) => progress.push(bytes),
    });
    assert.deepEqual(up, { ...counts, bytes: up.bytes });
    assert.ok(up.bytes > 3_000_000 && progress.length > 5 && progress.every((bytes) => bytes <= up.bytes));
    assert.deepEqual(treeOf(scratch.at('there')), treeOf(scratch.at('here')));
    const down = await client.files.download(scratch.at('there'), scratch.at('back'), { onProgress: () => progress.push(0) });
    assert.deepEqual(down, up);
    assert.deepEqual(treeOf(scratch.at('back')), treeOf(scratch.at('here')));
  });

  test('leaves out what is excluded, and reports what it skipped', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    mkdirSync(scratch.at('here', 'node_modules', 'deep'), { recursive: true });
    writeFileSync(scratch.at('here', 'node_modules', 'deep', 'file'), 'x');
    writeFileSync(scratch.at('here', 'kept'), 'x');
    writeFileSync(scratch.at('here', 'left.log'), 'x');
    const socket = createServer().listen(scratch.at('here', 'socket'));
    await once(socket, 'listening');
    const exclude = ['node_modules', '*.log'];
    const up = await client.files.upload(scratch.at('here'), scratch.at('up'), { exclude });
    const down = await client.files.download(scratch.at('here'), scratch.at('down'), { exclude });
    socket.close();
    for (const { files, skipped, skippedCount } of [up, down]) {
      assert.deepEqual([files, skipped.map(({ path }) => path), skippedCount], [1, ['socket'], 1]);
    }
    assert.deepEqual([readdirSync(scratch.at('up')), readdirSync(scratch.at('down'))], [['kept'], ['kept']]);
  });

  test('that resumes sends only what differs', async () => {
    using scratch = new Scratch({}, memoryFolder);
    await using client = await connector.connect();
    mkdirSync(scratch.at('here'));
    makeTree(scratch.at('here'));
    for (const direction of ['upload', 'download'] as const) {
      const target = scratch.at(direction);
      await client.files[direction](scratch.at('here'), target);
      rmSync(join(target, 'sub', 'small-7'));
      writeFileSync(join(target, 'large'), Buffer.alloc(3_000_001, 'torn'));
      rmSync(join(target, 'link'));
      const again = await client.files[direction](scratch.at('here'), target, { resume: true });
      assert.deepEqual([again.files, again.links, again.unchanged], [2, 1, 301], direction);
      assert.deepEqual(treeOf(target), treeOf(scratch.at('here')));
    }
  });

  test('of a single file follows the rules of cp', async () => {
    using scratch = new Scratch();
    await using client = await connector.connect();
    const content = Buffer.alloc(2_000_003, 'file');
    writeFileSync(scratch.at('file'), content, { mode: 0o755 });
    mkdirSync(scratch.at('folder'));
    for (const direction of ['upload', 'download'] as const) {
      for (const [to, made] of [
        [`new-${direction}`, `new-${direction}`],
        ['folder', 'folder/file'],
      ] as const) {
        const result = await client.files[direction](scratch.at('file'), scratch.at(to));
        assert.deepEqual([result.files, result.bytes], [1, content.length]);
        assert.ok(content.equals(readFileSync(scratch.at(made))));
        assert.equal(statSync(scratch.at(made)).mode & 0o777, 0o755);
      }
    }
    await assert.rejects(client.files.upload(scratch.at('absent'), scratch.at('x')), /absent/);
    await assert.rejects(client.files.download(scratch.at('absent'), scratch.at('x')), /absent/);
    assert.deepEqual(readdirSync(scratch.path).toSorted(), ['file', 'folder', 'new-download', 'new-upload']);
  });

  test('ends when its caller gives up, and leaves only whole files', async () => {
    using scratch = new Scratch({}, memoryFolder);
    await using client = await connector.connect();
    mkdirSync(scratch.at('here'));
    makeTree(scratch.at('here'));
    for (const direction of ['upload', 'download'] as const) {
      const stop = new AbortController();
      const onProgress = () => stop.abort(new Error('enough'));
      const transfer = client.files[direction](scratch.at('here'), scratch.at(direction), { signal: stop.signal, onProgress });
      await assert.rejects(transfer, /^Error: enough$/);
    }
    for (const direction of ['upload', 'download'] as const) {
      const stop = new AbortController();
      const onProgress = () => stop.abort(new Error('enough'));
      const file = client.files[direction](scratch.at('here', 'large'), scratch.at('file'), { signal: stop.signal, onProgress });
      await assert.rejects(file, /^Error: enough$/);
    }
    assert.ok(!existsSync(scratch.at('file')));
    await client.files.upload(scratch.at('here'), scratch.at('upload'), { resume: true });
    assert.deepEqual(treeOf(scratch.at('upload')), treeOf(scratch.at('here')));
  });
}
