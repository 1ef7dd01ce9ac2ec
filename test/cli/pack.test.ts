// The packs that spare a start its compiling: taken where they fit, and never in the way.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const bin = fileURLToPath(new URL('../../dist/bin', import.meta.url));

test('exec and serve have one for the engine that built them', () => {
  const made = `${process.versions.v8}.${process.platform}-${process.arch}.pack`;
  const packs = readdirSync(bin).filter((file) => file.endsWith('.pack'));
  assert.deepEqual(packs, [`exec.${made}`, `serve.${made}`]);
  for (const pack of packs.map((file) => path.join(bin, file))) {
    const script = new Script(readFileSync(pack, 'latin1'), { filename: pack, cachedData: readFileSync(`${pack}.cache`) });
    assert.equal(script.cachedDataRejected, false, pack);
  }
});

const changes: Record<string, (cache: string) => void> = {
  'that are as they were made are taken': () => {},
  'that are damaged are not taken': (cache) => writeFileSync(cache, 'not what V8 has made'),
  'that are empty are not taken': (cache) => writeFileSync(cache, ''),
  'that are missing are not missed': (cache) => rmSync(cache),
};

for (const [what, change] of Object.entries(changes)) {
  test(`packs ${what}`, () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sluice-'));
    cpSync(bin, folder, { recursive: true });
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.cache'))) change(path.join(folder, file));
    assert.deepEqual(run([path.join(folder, 'sluice.cjs')]), [0, 'hello\n', '']);
    rmSync(folder, { recursive: true });
  });
}

test('packs are not taken by an engine with other flags, which would refuse them', () => {
  assert.deepEqual(run(['--no-opt', path.join(bin, 'sluice.cjs')]), [0, 'hello\n', '']);
});

function run(program: readonly string[]): [number | null, string, string] {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...program, 'exec', '--', 'echo', 'hello'], {
    encoding: 'utf8',
  });
  return [status, stdout, stderr];
}
