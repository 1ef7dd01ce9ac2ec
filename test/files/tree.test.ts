// Whole trees as tar archives: packed, unpacked, and exchanged with GNU tar.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, lutimesSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync } from 'node:fs';
import { appendFileSync, chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import fs from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { Paths } from '#src/files/paths.js';
import { packTree } from '#src/files/tree/pack.js';
import type { TreeProgress, TreeResult } from '#src/files/tree/tree-result.js';
import { unpackTree } from '#src/files/tree/unpack.js';
import { withFs } from '../support/changed-fs.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { namesBelow, treeSnapshot } from '../support/tree-snapshot.js';

guardAgainstLeaks();

const base = mkdtempSync(join(tmpdir(), 'sluice-tree-'));
const [source, copy] = [join(base, 'source'), join(base, 'copy')];
after(() => rmSync(base, { recursive: true }));
beforeEach(() => {
  for (const folder of [source, copy]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(source);
});

describe('a packed tree', () => {
  test('unpacks to the same tree, with modes, times, links, and names of all kinds', async () => {
    makeRichTree();
    const result = await unpackTree(place(copy), packTree(place(source)));
    assert.deepEqual(treeSnapshot(copy), treeSnapshot(source));
    const { files, folders, links, bytes, skipped } = result;
    assert.deepEqual(
      { files, folders, links, bytes, skipped },
      { files: 7, folders: 5, links: 3, bytes: 3_100_010, skipped: [] },
    );
  });

  test('has the same checksum at both ends', async () => {
    makeRichTree();
    const { chunks, result: packed } = await collect(packTree(place(source)));
    const unpacked = await unpackTree(place(copy), inPieces(chunks));
    assert.deepEqual(unpacked, packed);
    assert.match(packed.sha256, /^[0-9a-f]{64}$/);
  });

  test('may arrive in pieces of any size', async () => {
    makeRichTree();
    const { chunks } = await collect(packTree(place(source)));
    const pieces = Buffer.concat(chunks);
    await unpackTree(place(copy), inPieces(cut(pieces, [1, 511, 513, 7, 40_000])));
    assert.deepEqual(treeSnapshot(copy), treeSnapshot(source));
  });

  test('keeps neither sockets nor FIFOs, and the result says so', async () => {
    writeFileSync(join(source, 'file'), 'x');
    execFileSync('mkfifo', [join(source, 'fifo')]);
    const server = createServer().listen(join(source, 'socket'));
    await once(server, 'listening');
    const { chunks, result } = await collect(packTree(place(source)));
    server.close();
    await once(server, 'close');
    await unpackTree(place(copy), inPieces(chunks));
    assert.deepEqual(namesBelow(copy), ['file']);
    assert.deepEqual({ files: result.files, count: result.skippedCount }, { files: 1, count: 2 });
    assert.deepEqual(result.skipped.map(({ path, reason }) => `${path.toString()}: ${reason}`).toSorted(), [
      'fifo: fifo',
      'socket: socket',
    ]);
  });

  test('leaves out what the caller excludes, with everything below it', async () => {
    makeRichTree();
    await unpackTree(place(copy), packTree(place(source), { exclude: (path) => path !== 'docs' && path !== 'docs/empty' }));
    assert.deepEqual(namesBelow(copy), ['docs', 'docs/empty']);
  });

  test('reports progress at both ends', async () => {
    makeRichTree();
    const reports: { packed: TreeProgress[]; unpacked: TreeProgress[] } = { packed: [], unpacked: [] };
    const chunks = packTree(place(source), { onProgress: (progress) => reports.packed.push(progress) });
    await unpackTree(place(copy), chunks, { onProgress: (progress) => reports.unpacked.push(progress) });
    assert.ok(reports.packed.length > 10);
    assert.equal(reports.packed.at(-1)?.bytes, 3_100_010);
    assert.equal(reports.packed.length, reports.unpacked.length);
  });

  test('holds no more than a few chunks of a large file in memory', async () => {
    writeFileSync(join(source, 'large'), '');
    truncateSync(join(source, 'large'), 64 * 1024 * 1024);
    let longest = 0;
    for await (const chunk of packTree(place(source))) longest = Math.max(longest, chunk.length);
    assert.ok(longest <= 256 * 1024, `a chunk of ${longest} bytes`);
  });
});

describe('a file that changes while it is packed', () => {
  test('fails the whole by name if it gets shorter', async () => {
    writeFileSync(join(source, 'log'), Buffer.alloc(1_000_000, 'x'));
    const chunks = packTree(place(source));
    await chunks.next();
    truncateSync(join(source, 'log'), 200_000);
    await assert.rejects(async () => drained(chunks), {
      kind: 'failed',
      message: /^"log" became shorter while it was packed: it had 1000000 bytes and then ended after \d+$/,
    });
  });

  test('is packed as long as it was if it gets longer', async () => {
    writeFileSync(join(source, 'log'), Buffer.alloc(1_000_000, 'x'));
    const chunks = packTree(place(source));
    const first = await chunks.next();
    appendFileSync(join(source, 'log'), 'more');
    const { chunks: rest } = await collect(chunks);
    await unpackTree(place(copy), inPieces([first.value as Uint8Array, ...rest]));
    assert.deepEqual(readFileSync(join(copy, 'log')), Buffer.alloc(1_000_000, 'x'));
  });
});

describe('GNU tar', () => {
  test('unpacks what this packs', async () => {
    makeRichTree();
    mkdirSync(copy);
    const tar = spawn('tar', ['-x', '-p', '-C', copy], {
      stdio: ['pipe', 'inherit', 'pipe'],
      env: { ...process.env, LC_ALL: 'C' },
    });
    for await (const chunk of packTree(place(source))) tar.stdin.write(chunk);
    tar.stdin.end();
    const [code] = (await once(tar, 'close')) as [number];
    assert.equal(code, 0);
    assert.deepEqual(treeSnapshot(copy), treeSnapshot(source));
  });

  for (const format of ['ustar', 'pax', 'gnu', 'oldgnu', 'v7'] as const) {
    test(`packs in its ${format} format what this unpacks`, async () => {
      // The names that ustar and v7 cannot hold would make GNU tar fail.
      if (format === 'ustar' || format === 'v7') makePlainTree();
      else makeRichTree();
      const { stdout: archive, result } = packedByTar(['--format', format, '.']);
      await unpackTree(place(copy), archive);
      await result;
      const whole = format === 'pax' ? treeSnapshot(source) : wholeSeconds(treeSnapshot(source));
      assert.deepEqual(format === 'pax' ? treeSnapshot(copy) : wholeSeconds(treeSnapshot(copy)), whole);
    });
  }

  test('packs hard links, which stay one file', async () => {
    writeFileSync(join(source, 'a'), 'same');
    mkdirSync(join(source, 'folder'));
    linkSync(join(source, 'a'), join(source, 'folder/b'));
    const { stdout: archive, result } = packedByTar(['a', 'folder']);
    await unpackTree(place(copy), archive);
    await result;
    assert.equal(statSync(join(copy, 'a')).ino, statSync(join(copy, 'folder/b')).ino);
    assert.equal(readFileSync(join(copy, 'folder/b'), 'utf8'), 'same');
  });

  test('packs files before their folders, whose modes and times are kept', async () => {
    makePlainTree();
    const { stdout: archive, result } = packedByTar(['--no-recursion', 'docs/a.txt', 'docs', 'run.sh']);
    await unpackTree(place(copy), archive);
    await result;
    const whole = wholeSeconds(treeSnapshot(source));
    assert.deepEqual(wholeSeconds(treeSnapshot(copy)), {
      docs: whole['docs'],
      'docs/a.txt': whole['docs/a.txt'],
      'run.sh': whole['run.sh'],
    });
  });

  test('packs sparse files in its own way, which is refused', async () => {
    writeFileSync(join(source, 'sparse'), 'x');
    truncateSync(join(source, 'sparse'), 10_000_000);
    const { stdout: archive, result } = packedByTar(['-S', '.']);
    await assert.rejects(unpackTree(place(copy), archive), /stores "\.\/sparse" as a sparse file, which is not supported/);
    await result.catch(() => {}); // it may have got a broken pipe
    assert.deepEqual(namesBelow(copy), []);
  });
});

test('hard links are packed as files of their own', async () => {
  writeFileSync(join(source, 'a'), 'same');
  linkSync(join(source, 'a'), join(source, 'b'));
  await unpackTree(place(copy), packTree(place(source)));
  assert.deepEqual(treeSnapshot(copy), treeSnapshot(source));
  assert.equal(statSync(join(copy, 'b')).nlink, 1);
});

test('a tree is packed and unpacked by a server that is confined to a root', async () => {
  makeRichTree();
  const confined = Paths.open({ roots: [base] });
  mkdirSync(copy);
  symlinkSync('../copy', join(source, 'to copy'));
  for (const target of [join(copy, 'new'), copy, join(source, 'to copy')]) {
    const from = await confined.at(source, { links: 'follow', for: 'read' });
    const to = await confined.at(target, { links: 'follow', for: 'write' });
    await unpackTree(to, packTree(from, { exclude: (path) => path === 'to copy' }));
    from.close();
    to.close();
    assert.equal(readFileSync(join(target, 'docs/a.txt'), 'utf8'), 'abc');
  }
  confined.close();
  rmSync(join(source, 'to copy'));
  rmSync(join(copy, 'new'), { recursive: true });
  assert.deepEqual(treeSnapshot(copy), treeSnapshot(source));
});

test('a folder of another user is unpacked into, and keeps its mode', async () => {
  makePlainTree();
  mkdirSync(join(copy, 'docs'), { recursive: true });
  chmodSync(join(copy, 'docs'), 0o777);
  const { fchmodSync, fstatSync } = fs;
  const refusing = (fd: number, mode: fs.Mode): void => {
    if (fstatSync(fd).isDirectory()) throw Object.assign(new Error('EPERM: operation not permitted, fchmod'), { code: 'EPERM' });
    fchmodSync(fd, mode);
  };
  const unpack = async (): Promise<TreeResult> =>
    unpackTree(place(copy), packTree(place(source), { exclude: (path) => path !== 'docs' }));
  await withFs({ fchmodSync: refusing }, unpack);
  assert.equal(statSync(join(copy, 'docs')).mode & 0o777, 0o777);
  rmSync(join(copy, 'docs'), { recursive: true });
  await assert.rejects(withFs({ fchmodSync: refusing }, unpack), { errno: 'EPERM' });
});

test('an aborted transfer stops packing and unpacking', async () => {
  makeRichTree();
  const abort = new AbortController();
  const chunks = packTree(place(source), { signal: abort.signal, onProgress: () => abort.abort() });
  await assert.rejects(unpackTree(place(copy), chunks), { name: 'AbortError' });
});

test('a tree that is missing, or not a folder, is an error in words', async () => {
  writeFileSync(join(base, 'plain'), '');
  await assert.rejects(async () => drained(packTree(place(join(base, 'none')))), { kind: 'notFound', message: /open ".*none"$/ });
  await assert.rejects(async () => drained(packTree(place(join(base, 'plain')))), {
    message: /^ENOTDIR: not a directory, open ".*plain"$/,
  });
});

function place(path: string): { path: string; openFlags: number; shown: string } {
  return { path, openFlags: 0, shown: path };
}

/** 7 files, 5 folders, 3 links. */
function makeRichTree(): void {
  makeRichEntries();
  // Times that a fraction in floating point holds to the microsecond: GNU tar has them to the nanosecond.
  for (const path of Object.keys(treeSnapshot(source)).toReversed()) {
    lutimesSync(Buffer.from(`${source}/${path}`, 'latin1'), 1_700_000_001.25, 1_700_000_001.25);
  }
}

function makeRichEntries(): void {
  makePlainTree();
  const long = 'n'.repeat(120);
  mkdirSync(join(source, long, long, 'x'.repeat(200)), { recursive: true });
  writeFileSync(join(source, long, long, 'long path'), 'l');
  writeFileSync(join(source, 'empty'), '');
  writeFileSync(join(source, 'größe ☃'), 'utf-8');
  writeFileSync(Buffer.from(`${source}/latin \xe4`, 'latin1'), 'x');
  writeFileSync(join(source, 'large'), Buffer.alloc(3_000_000, 'large '));
  symlinkSync(`/nowhere/${'t'.repeat(150)}`, join(source, 'long link'));
  symlinkSync(Buffer.from('\xe4', 'latin1'), join(source, 'latin link'));
}

/** 2 files, 2 folders, 1 link: what every format can hold. */
function makePlainTree(): void {
  mkdirSync(join(source, 'docs/empty'), { recursive: true, mode: 0o755 });
  writeFileSync(join(source, 'docs/a.txt'), 'abc', { mode: 0o640 });
  writeFileSync(join(source, 'run.sh'), Buffer.alloc(100_000, '#'));
  chmodSync(join(source, 'run.sh'), 0o755);
  symlinkSync('docs/a.txt', join(source, 'link'));
  lutimesSync(join(source, 'link'), 1_600_000_000, 1_600_000_000);
  utimesSync(join(source, 'docs/a.txt'), 1_500_000_000.123_456, 1_500_000_000.123_456);
  chmodSync(join(source, 'docs/empty'), 0o500);
  utimesSync(join(source, 'docs'), 1_400_000_000, 1_400_000_000);
}

function packedByTar(args: readonly string[]): { stdout: AsyncIterable<Uint8Array>; result: Promise<void> } {
  const tar = spawn('tar', ['-C', source, '-c', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const result = once(tar, 'close').then(([code]) => assert.equal(code, 0));
  return { stdout: tar.stdout, result };
}

function wholeSeconds(snapshot: Record<string, string>): Record<string, string> {
  const cutOff = (text: string) => text.replace(/^(\w+ \d+ -?\d+)\d{6}/, '$1');
  return Object.fromEntries(Object.entries(snapshot).map(([path, about]) => [path, cutOff(about)]));
}

async function collect(packing: AsyncGenerator<Uint8Array, TreeResult>): Promise<{ chunks: Uint8Array[]; result: TreeResult }> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const step = await packing.next();
    if (step.done === true) return { chunks, result: step.value };
    chunks.push(step.value);
  }
}

async function drained(packing: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of packing);
}

async function* inPieces(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

function cut(bytes: Buffer, lengths: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let [at, turn] = [0, 0]; at < bytes.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}
