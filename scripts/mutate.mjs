// Mutation testing of the two rooms everything depends on: does one small wrong at a time to src/process and src/server and sees whether a test
// fails. Mutants are drawn at random, since all of them would take a day; the same seed draws the same ones. What no test notices is printed.
//
//   npm run mutate -- [--sample 300] [--seed N] [--jobs 2]   that many mutants
//   npm run mutate -- … --minutes 2                          stops after that time; the same words go on where it stopped
//   npm run mutate -- … --budget 300                         seconds of tests that a mutant must survive, instead of 60
//   npm run mutate -- --only output-log.ts:120               all mutants whose place has this in it, each tried again

import { readFileSync, readdirSync } from 'node:fs';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { wholeNumber } from './measure.mjs';
import { Baseline } from './mutate/baseline.mjs';
import { mutantsOf } from './mutate/mutants.mjs';
import { Notes, digest, digestOfFolder } from './mutate/notes.mjs';
import { TestTree } from './mutate/test-tree.mjs';
import { inOrder, tryMutant } from './mutate/trial.mjs';
import { seededRandom } from './soak/random.mjs';
import { root, succeeds, tool } from './tool.mjs';

const rooms = ['process', 'server'];

const { values: options } = parseArgs({
  options: {
    sample: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    jobs: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '10000' },
    budget: { type: 'string', default: '60' },
    only: { type: 'string' },
  },
});
const seed = wholeNumber('seed', options.seed);
const jobs = wholeNumber('jobs', options.jobs);
const budgetMs = wholeNumber('budget', options.budget) * 1_000;
const until = performance.now() + wholeNumber('minutes', options.minutes) * 60_000;

if (!succeeds(tool('tsc'), ['-b', 'tsconfig.test.json'])) process.exit(1);
const all = rooms.flatMap(mutantsIn);
const chosen =
  options.only === undefined
    ? drawn(all, wholeNumber('sample', options.sample))
    : all.filter(({ place }) => place.includes(options.only));
console.log(`Node ${process.version}, ${chosen.length} of ${all.length} mutants, --seed ${seed}\n`);

const results = new Notes('results');
const tests = digestOfFolder('dist-test');
const baseline = new Baseline(all);
const trees = Array.from({ length: jobs }, () => new TestTree());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
process.once('exit', () => trees.forEach((tree) => tree.remove()));
await main();

async function main() {
  await shared(baseline.missing(), measure);
  if (baseline.missing().length > 0) return console.log('\nThere are tests yet to be measured: the same command goes on.');
  for (const { file, test } of baseline.useless()) console.log(`not used, it fails by itself in a copy: ${file} ${test}`);
  await shared(options.only === undefined ? chosen.filter((each) => resultOf(each) === undefined) : chosen, attempt);
  report();
}

/** With where each is in the sources. */
function mutantsIn(room) {
  const files = readdirSync(path.join(root, 'dist', room), { recursive: true }).map(String);
  const modules = files.filter((file) => file.endsWith('.js')).toSorted();
  return modules.flatMap((file) => {
    const module = path.join(room, file);
    const code = readFileSync(path.join(root, 'dist', module), 'utf8');
    const map = new SourceMap(JSON.parse(readFileSync(path.join(root, 'dist', `${module}.map`), 'utf8')));
    return mutantsOf(file, code).map((mutant) => {
      const before = code.slice(0, mutant.start).split('\n');
      const { originalLine } = map.findEntry(before.length - 1, before.at(-1).length);
      const place = `src/${module.replace(/\.js$/, '.ts')}:${originalLine + 1}`;
      const change = `${brief(code.slice(mutant.start, mutant.end))} → ${brief(mutant.text)}`;
      return { ...mutant, module, place, change, key: digest(code, JSON.stringify(mutant)) };
    });
  });
}

function brief(code) {
  const line = code.replaceAll(/\s+/g, ' ');
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}

function drawn(mutants, count) {
  const random = seededRandom(seed);
  const rest = [...mutants];
  return Array.from({ length: Math.min(count, rest.length) }, () => rest.splice(random.whole(0, rest.length - 1), 1)[0]);
}

/** A lane for each tree; they stop when the time is over. */
async function shared(list, task) {
  const rest = [...list];
  const lane = async (tree) => {
    while (rest.length > 0 && performance.now() < until) await task(rest.shift(), tree);
  };
  await Promise.all(trees.map(lane));
}

async function measure(file, tree) {
  const { outcome, test, ms } = await baseline.measure(file, tree);
  console.log(`${file}: ${outcome} ${test} (${(ms / 1000).toFixed(1)} s)`);
}

async function attempt(mutant, tree) {
  const earlier = [...results.values()];
  const result = await tryMutant(mutant, inOrder(baseline.reaching(mutant), mutant.module, earlier), { tree, budgetMs });
  const { module, place, change, key } = mutant;
  results.set(key, { module, place, change, tests, budgetMs, ...result });
  const how = result.outcome === 'killed' ? `killed by ${result.by} of ${result.file}` : result.outcome.toUpperCase();
  console.log(`${place}  ${mutant.kind}: ${change}\n    ${how} (${(result.ms / 1000).toFixed(1)} s)`);
}

/** A kill holds as long as the code does. Who survived is tried again when there are other tests or more time. */
function resultOf({ key }) {
  const result = results.get(key);
  if (result === undefined || result.outcome === 'killed') return result;
  return result.tests === tests && result.budgetMs >= budgetMs ? result : undefined;
}

function report() {
  const tried = chosen.filter((each) => resultOf(each) !== undefined);
  const alive = tried.filter((each) => resultOf(each).outcome !== 'killed');
  if (alive.length > 0) console.log('\nNot noticed by any test:');
  for (const each of alive.toSorted((a, b) => a.place.localeCompare(b.place))) {
    console.log(
      `  ${each.place}  ${each.kind}: ${each.change}${resultOf(each).outcome === 'unreached' ? '  (not reached)' : ''}`,
    );
  }
  if (tried.length === 0) return;
  const [low, high] = interval(tried.length - alive.length, tried.length);
  const percent = (share) => (100 * share).toFixed(1);
  console.log(
    `\n${tried.length - alive.length} of ${tried.length} mutants killed: ${percent(1 - alive.length / tried.length)} % ` +
      `(95 % interval ${percent(low)} to ${percent(high)} %), --seed ${seed}`,
  );
  if (tried.length < chosen.length)
    console.log(`${chosen.length - tried.length} are yet to be tried: the same command with this seed goes on.`);
}

/** Wilson's, which holds for few and for extreme shares too. */
function interval(successes, count) {
  const z = 1.96;
  const share = successes / count;
  const middle = share + (z * z) / (2 * count);
  const half = z * Math.sqrt((share * (1 - share)) / count + (z * z) / (4 * count * count));
  return [middle - half, middle + half].map((value) => value / (1 + (z * z) / count));
}
