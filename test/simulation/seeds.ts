// From a seed to a scenario and its outcome; and from a failing scenario to the smallest one that still fails.

import * as fc from 'fast-check';
import { type Scenario, scenario } from './scenario.js';
import { type Outcome, simulate } from './simulation.js';

export interface SeedOutcome extends Outcome {
  readonly seed: number;
  readonly scenario: Scenario;
}

/** Time limit for shrinking; the smallest scenario found by then is shown. */
const shrinkMs = 60_000;

export async function runSeed(seed: number, options: { readonly traced: boolean } = { traced: false }): Promise<SeedOutcome> {
  const [chosen] = fc.sample(scenario, { seed, numRuns: 1 });
  if (chosen === undefined) throw new Error(`seed ${seed} gives no scenario`);
  return { seed, scenario: chosen, ...(await simulate(chosen, options)) };
}

/** The smallest scenario found that fails in the same way as this seed's, with its trace. */
export async function shrink(seed: number): Promise<SeedOutcome> {
  const { failure, scenario: first } = await runSeed(seed);
  const way = wayOf(failure);
  let smallest = first;
  const property = fc.asyncProperty(scenario, async (each) => {
    const isSameWay = wayOf((await simulate(each, { traced: false })).failure) === way;
    if (isSameWay) smallest = each; // each failing scenario is smaller than the last
    return !isSameWay;
  });
  await fc.check(property, { seed, numRuns: 1, plugins: [fc.interruptAfterTimeLimit(shrinkMs)] });
  return { seed, scenario: smallest, ...(await simulate(smallest, { traced: true })) };
}

/** The failure without the names and numbers of its scenario, so that shrinking does not slip into a different failure. */
function wayOf(failure: string | undefined): string | undefined {
  return failure
    ?.replaceAll(/\b[abc]\b/g, 'client')
    .replaceAll(/\d+/g, 'n')
    .replace(/(in vain|answered).*/, '$1');
}

/** What to print about a failure: what broke, the events that led to it, and the command that reproduces it. */
export function report({ seed, failure, scenario: smallest, trace }: SeedOutcome): string {
  const actions = smallest.actions.map((action) => `  ${JSON.stringify(action)}`);
  const { luck, clients, limits } = smallest;
  return [
    ...trace,
    '',
    `smallest scenario: ${JSON.stringify({ luck, clients, limits })}`,
    ...actions,
    '',
    `seed ${seed}: ${failure ?? 'nothing broke'}`,
    `reproduce: npm run simulate -- --seed ${seed}`,
  ].join('\n');
}
