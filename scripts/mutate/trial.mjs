// One mutant and the tests that may notice it, until one does.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { applied } from './mutants.mjs';

/** A run that takes longer than this many times its usual time, and these milliseconds, hangs. */
const slowness = 3;
const slackMs = 5_000;

/**
 * @param {object} mutant
 * @param {{ file: string, ms: number }[]} tests in the order they are to be tried
 * @param {number} budgetMs how long they may take, if none of them notices
 * @returns {Promise<{ outcome: 'killed' | 'survived' | 'unreached', by?: string, ms: number }>}
 */
export async function tryMutant(mutant, tests, { tree, budgetMs }) {
  if (tests.length === 0) return { outcome: 'unreached', ms: 0 };
  const startedAt = performance.now();
  const code = applied(mutant, readFileSync(tree.moduleAt(mutant.module), 'utf8'));
  let spentMs = 0;
  for (const { file, ms } of tests) {
    if (spentMs > 0 && spentMs + ms > budgetMs) continue;
    spentMs += ms;
    const patience = { timeoutMs: ms * slowness + slackMs };
    const { outcome, test } = await tree.withModule(mutant.module, code, () => tree.run(file, patience));
    // A file that fails here and now without the mutant too has noticed something else.
    if (outcome === 'passed' || (await tree.run(file, patience)).outcome !== 'passed') continue;
    return {
      outcome: 'killed',
      file,
      by: outcome === 'hung' ? 'a hang' : test === '' ? 'its early end' : `"${test}"`,
      ms: Math.round(performance.now() - startedAt),
    };
  }
  return { outcome: 'survived', ms: Math.round(performance.now() - startedAt) };
}

/** Folders of tests, from those that are about these rooms to those that merely pass through. */
const folders = ['process', 'server', 'simulation', 'contract', 'wire', 'faults', 'security'];

/** First what tests the very module, then what notices mutants of it soonest, then what is nearest, then what is quickest. */
export function inOrder(tests, module, earlier) {
  const [room] = module.split('/');
  const name = path.basename(module, '.js');
  const rankOf = ({ file, ms }) => {
    const [, folder, ...rest] = file.split('/');
    const isItsOwn = folder === room && rest.at(-1)?.startsWith(name) === true;
    const kills = earlier.filter((result) => result.module === module && result.file === file).length;
    const distance = folders.includes(folder) ? folders.indexOf(folder) : folders.length;
    return [isItsOwn ? 0 : 1, -kills / ms, distance, ms];
  };
  return tests
    .map((test) => ({ ...test, rank: rankOf(test) }))
    .toSorted((a, b) => a.rank.map((value, index) => value - b.rank[index]).find((difference) => difference !== 0) ?? 0);
}
