// Compares the answers of `sluice serve` to Codex's calls about files with those of Codex's own server: random calls on random trees, each
// sent to both on trees of their own, which must be equal afterwards, too. Error texts are not compared. Needs Linux.
//
//   npm run codex-files -- [--cases 400] [--seed 1] [--only 17]
//
// CODEX_BIN names a codex; without it, one is installed into a scratch folder.

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { Random } from '../../dist-test/support/random.js';
import { scratchInstall } from '../../test/e2e/scratch-install.mjs';
import { wholeNumber } from '../measure.mjs';
import { writesToPipe, drawCalls, drawTree, snapshot } from './codex-files/cases.mjs';
import { LineServer } from './codex-files/server.mjs';

/** @import { Answer } from './codex-files/server.mjs' */
/** @import { Call } from './codex-files/cases.mjs' */

/** Differences printed in full. */
const mostShown = 20;

const { values: options } = parseArgs({
  options: { cases: { type: 'string', default: '400' }, seed: { type: 'string', default: '1' }, only: { type: 'string' } },
});
const cases = wholeNumber('cases', options.cases);
const seed = wholeNumber('seed', options.seed);
const only = options.only === undefined ? undefined : wholeNumber('only', options.only);

const codex = process.env.CODEX_BIN ?? scratchInstall({ name: '@openai/codex', version: '0.166.0', program: 'codex' });
const sluice = fileURLToPath(new URL('../../dist/bin/sluice.cjs', import.meta.url));
// Codex does not work with a home below the temporary folder.
const home = mkdtempSync(path.join(homedir(), '.sluice-codex-files-'));
const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'sluice-codex-files-')));
// Of equal length, because some limits count the bytes of paths; and in folders of their own, because links may lead to "..".
const roots = { codex: path.join(scratch, 'one', 'tree'), sluice: path.join(scratch, 'two', 'tree') };
const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home };
const servers = {
  codex: new LineServer([codex, 'exec-server', '--listen', 'stdio'], env),
  sluice: new LineServer([process.execPath, sluice, 'serve', '--listen', 'stdio'], env),
};

/** Methods in which Codex loses line feeds and bytes that are not UTF-8 from names; what it then looks for does not exist. */
const namesLost = new Set(['fs/readDirectory', 'fs/walk']);

let calls = 0;
/** Calls on which the servers are known to differ; docs/differences.md says why. */
let known = 0;
let differences = 0;
try {
  await Promise.all([servers.codex.open(), servers.sluice.open()]);
  for (let index = only ?? 0; index < (only === undefined ? cases : only + 1); index += 1) await runCase(index);
} finally {
  servers.codex.close();
  servers.sluice.close();
  for (const folder of [home, scratch]) rmSync(folder, { recursive: true, force: true });
}
console.log(
  `${only === undefined ? cases : 1} trees, ${calls} calls, ${known} of them with a known difference, ${differences} with another`,
);
process.exitCode = differences === 0 ? 0 : 1;

/** @param {number} index */
async function runCase(index) {
  const random = Random.forCase(seed, index);
  const { paths, build } = drawTree(random);
  const drawn = drawCalls(random, paths);
  for (const root of Object.values(roots)) {
    mkdirSync(root, { recursive: true });
    build(Buffer.from(root));
  }
  for (const [at, draw] of drawn.entries()) {
    calls += 1;
    const asked = { codex: draw(Buffer.from(roots.codex)), sluice: draw(Buffer.from(roots.sluice)) };
    if (writesToPipe(asked.codex)) {
      known += 1;
      continue;
    }
    const [theirs, ours] = await Promise.all([
      servers.codex.call(asked.codex.method, asked.codex.params),
      servers.sluice.call(asked.sluice.method, asked.sluice.params),
    ]);
    if (theirs.error?.code === 0 || ours.error?.code === 0)
      throw new Error(`case ${index}, call ${at}: a server does not answer`);
    if (asked.codex.method === 'fs/copy' && isOntoItself(ours)) {
      known += 1;
      break; // Codex has emptied the file
    }
    if (namesLost.has(asked.codex.method) && hasOddName(roots.codex)) {
      known += 1;
      continue;
    }
    const found = { codex: comparable(theirs, roots.codex), sluice: comparable(ours, roots.sluice) };
    if (!isDeepStrictEqual(found.codex, found.sluice)) report({ index, at }, asked.codex, { theirs, ours });
    const trees = { codex: snapshot(Buffer.from(roots.codex)), sluice: snapshot(Buffer.from(roots.sluice)) };
    if (!isDeepStrictEqual(trees.codex, trees.sluice)) {
      const [changed, other] = [trees.codex, trees.sluice].map((lines, side, both) =>
        lines.filter((line) => !both[1 - side]?.includes(line)),
      );
      report({ index, at }, asked.codex, { theirs: { result: changed }, ours: { result: other } });
      break;
    }
  }
  const handles = ['h', 'i', '', 'x'.repeat(32)];
  for (const server of Object.values(servers)) for (const handleId of handles) await server.call('fs/close', { handleId });
  for (const root of Object.values(roots)) rmSync(path.dirname(root), { recursive: true, force: true });
}

/**
 * An answer without what may differ: texts, times, the size of a folder, the order of a listing, and slashes that are doubled in a path.
 * @param {Answer} answer
 * @param {string} root
 * @returns {unknown}
 */
function comparable({ result, error }, root) {
  if (error !== undefined) return { code: error.code };
  /** @type {unknown} */
  const renamed = JSON.parse(
    JSON.stringify(result)
      .replaceAll(root, '/R')
      .replaceAll(/(?<=\w)\/{2,}/g, '/'),
  );
  if (typeof renamed !== 'object' || renamed === null) return renamed;
  if ('isDirectory' in renamed)
    return {
      ...renamed,
      size: renamed.isDirectory === true || ('size' in renamed && renamed.size),
      createdAtMs: 0,
      modifiedAtMs: 0,
    };
  if ('errors' in renamed && Array.isArray(renamed.errors))
    return { ...renamed, errors: renamed.errors.map((each) => each.path) };
  if ('entries' in renamed && Array.isArray(renamed.entries)) {
    return { ...renamed, entries: renamed.entries.map((each) => JSON.stringify(each)).toSorted() };
  }
  return renamed;
}

/** @param {string} root */
function hasOddName(root) {
  return snapshot(Buffer.from(root)).some((line) => /%FF|%0A/.test(line));
}

/** @param {Answer} answer */
function isOntoItself({ error }) {
  return error?.message.includes('is the file that is to be copied there') === true;
}

/**
 * @param {{ readonly index: number, readonly at: number }} where
 * @param {Call} call
 * @param {{ readonly theirs: Answer, readonly ours: Answer }} answers
 */
function report({ index, at }, { method, params }, { theirs, ours }) {
  differences += 1;
  if (differences > mostShown) return;
  const short = (/** @type {unknown} */ value) =>
    JSON.stringify(value)
      .replaceAll(scratch, '')
      .replaceAll(/x{200,}/g, 'X')
      .slice(0, 400);
  console.log(`case ${index}, call ${at}: ${method} ${short(params)}`);
  console.log(`  codex:  ${short(theirs.error ?? theirs.result)}`);
  console.log(`  sluice: ${short(ours.error ?? ours.result)}`);
}
