// The digest of a tree: pages in a fixed order, by which a transfer that was cut is continued.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type DigestEntry, digestTree } from '#src/files/tree/digest.js';
import { packTree } from '#src/files/tree/pack.js';
import { unpackTree } from '#src/files/tree/unpack.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { treeSnapshot } from '../support/tree-snapshot.js';

guardAgainstLeaks();

const base = mkdtempSync(join(tmpdir(), 'sluice-digest-'));
const [source, copy] = [join(base, 'source'), join(base, 'copy')];
before(() => {
  mkdirSync(join(source, 'a/b/c'), { recursive: true });
  mkdirSync(join(source, 'a.b'));
  writeFileSync(join(source, 'a/b/file'), 'text');
  writeFileSync(join(source, 'a/large'), Buffer.alloc(300_000, 'large '));
  writeFileSync(Buffer.from(`${source}/\xe4`, 'latin1'), '');
  symlinkSync('a/b', join(source, 'link'));
  chmodSync(join(source, 'a/b/file'), 0o640);
  utimesSync(join(source, 'a/b/file'), 1_700_000_000.25, 1_700_000_000.25);
});
after(() => rmSync(base, { recursive: true }));

test('everything is listed with what tells whether it has changed, a folder before its contents', async () => {
  const { entries, next } = await digestTree(place(source), { limit: 100 });
  assert.equal(next, undefined);
  assert.deepEqual(
    entries.map(({ path, kind }) => `${path.toString('latin1')} ${kind}`),
    [
      'a directory',
      'a/b directory',
      'a/b/c directory',
      'a/b/file file',
      'a/large file',
      'a.b directory',
      'link symlink',
      '\xe4 file',
    ],
  );
  assert.deepEqual(entries[3], {
    path: 'a/b/file',
    kind: 'file',
    size: 4,
    modifiedAtMs: 1_700_000_000_250,
    mode: 0o640,
    sha256: createHash('sha256').update('text').digest('hex'),
  });
  assert.equal(entries[4]?.sha256, createHash('sha256').update(Buffer.alloc(300_000, 'large ')).digest('hex'));
  assert.equal(entries[6]?.target, 'a/b');
});

test('pages of any size give the same list', async () => {
  const { entries: whole } = await digestTree(place(source), { limit: 100 });
  for (const limit of [1, 2, 3, 8]) assert.deepEqual(await paged(limit), whole);
});

test('a page goes on where the last entry was, even if it is gone', async () => {
  const { entries } = await digestTree(place(source), { limit: 100, after: 'a/b/d/gone' });
  assert.deepEqual(
    entries.slice(0, 2).map(({ path }) => path),
    ['a/b/file', 'a/large'],
  );
});

test('a copy has the same digest, so that a second transfer leaves out all of its files', async () => {
  await unpackTree(place(copy), packTree(place(source)));
  const [{ entries: original }, { entries: arrived }] = await Promise.all([
    digestTree(place(source), { limit: 100 }),
    digestTree(place(copy), { limit: 100 }),
  ]);
  assert.deepEqual(withoutFolderSizes(arrived), withoutFolderSizes(original));
  const there = new Map(arrived.map((entry) => [entry.path.toString(), entry]));
  const exclude = (path: string | Buffer): boolean => there.get(path.toString())?.kind === 'file';
  const { files } = await unpackTree(place(copy), packTree(place(source), { exclude }));
  assert.equal(files, 0);
  assert.deepEqual(treeSnapshot(copy), treeSnapshot(source));
});

test('an aborted digest stops', async () => {
  await assert.rejects(digestTree(place(source), { limit: 100, signal: AbortSignal.abort() }), { name: 'AbortError' });
});

async function paged(limit: number): Promise<DigestEntry[]> {
  const all: DigestEntry[] = [];
  for (
    let page = await digestTree(place(source), { limit });
    ;
    page = await digestTree(place(source), { limit, after: page.next })
  ) {
    assert.ok(page.entries.length <= limit);
    all.push(...page.entries);
    if (page.next === undefined) return all;
  }
}

function withoutFolderSizes(entries: readonly DigestEntry[]): object[] {
  return entries.map((entry) =>
    entry.kind === 'file' ? entry : { ...entry, size: 0, modifiedAtMs: entry.kind === 'symlink' ? 0 : entry.modifiedAtMs },
  );
}

function place(path: string): { path: string; openFlags: number; shown: string } {
  return { path, openFlags: 0, shown: path };
}
