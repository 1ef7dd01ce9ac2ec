// Random operations on a tree of files. As the main module of a thread, carries out as many as its workerData says.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isMainThread, workerData } from 'node:worker_threads';
import { Random } from './random.js';

/** One operation on the tree in `in`, or between it and `out`, which is not watched. */
export function operate(root: string, random: Random): void {
  const entries = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const folders = entries.filter((name) => statSync(path.join(root, name)).isDirectory());
  const others = entries.filter((name) => name !== 'in' && name !== 'out');
  const place = path.join(root, random.pick(folders), `n${random.below(6)}`);
  const chosen = others.length === 0 ? undefined : path.join(root, random.pick(others));
  switch (random.pick(['write', 'write', 'folder', 'move', 'move', 'remove'] as const)) {
    case 'write':
      if (!existsSync(place) || statSync(place).isFile()) writeFileSync(place, String(random.below(1e6)));
      break;
    case 'folder':
      if (!existsSync(place)) mkdirSync(place);
      break;
    case 'move':
      if (chosen !== undefined && !`${place}/`.startsWith(`${chosen}/`)) moveIfPossible(chosen, place);
      break;
    case 'remove':
      if (chosen !== undefined && random.chance(0.5)) rmSync(chosen, { recursive: true });
      break;
  }
}

/** A folder cannot take the place of a file or of a folder that is not empty, nor a file that of a folder. */
function moveIfPossible(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    assert.ok(error instanceof Error && 'code' in error);
    assert.ok(['ENOTDIR', 'EISDIR', 'ENOTEMPTY'].includes(String(error.code)), error.message);
  }
}

if (!isMainThread) {
  const { root, seed, operations } = workerData as { root: string; seed: number; operations: number };
  const random = new Random(seed);
  for (let count = 0; count < operations; count += 1) operate(root, random);
}
