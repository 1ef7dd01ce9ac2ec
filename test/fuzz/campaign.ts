// Many concurrent cases against a server in each setup, and a check of what remains when all have ended.

import assert from 'node:assert/strict';
import { type FuzzCase, makeCase } from './cases.js';
import { type Guise, guises } from './guises.js';
import { Random } from '../support/random.js';
import { type Surroundings, endEverything, runCase } from './run-case.js';
import { type Belongings, FuzzTarget } from './target.js';

export interface CampaignOptions {
  readonly seed: number;
  readonly inputs: number;
  /** Runs only this case. */
  readonly only?: number;
  readonly progress?: (inputs: number) => void;
}

export interface Failure {
  readonly case: FuzzCase | undefined;
  readonly problems: readonly string[];
}

export interface Report {
  readonly inputs: number;
  readonly cases: number;
  readonly byTransport: Readonly<Record<FuzzCase['transport'], number>>;
  readonly byGuise: Readonly<Record<Guise, number>>;
  readonly byLabel: ReadonlyMap<string, number>;
  /** What each of the servers had before and has now. */
  readonly before: readonly Belongings[];
  /** Empty once something else has failed. */
  readonly after: readonly Belongings[];
  readonly failure: Failure | undefined;
}

/** Concurrent cases, so that the server always has several connections in different states. */
const lanes = 6;

/** Slowloris connections to each server: they send a byte now and then and never complete a request. */
const lorises = 4;

/** Growth that is allowed for compiled code and caches. A leak of a hundred bytes for each of 200 000 inputs is more. */
const allowedGrowthMiB = 8;

/** Time for the last output of a crashed server to arrive. */
const lastWordsMs = 300;

const lookMs = 20;
const patienceMs = 20_000;

export async function runCampaign({ seed, inputs, only, progress }: CampaignOptions): Promise<Report> {
  const targets = await Promise.all(guises.map(async (guise) => FuzzTarget.start(guise)));
  await using _ = { [Symbol.asyncDispose]: async () => endAll(targets) };
  const surroundings = targets.map((target): Surroundings => ({ target, sessions: [], takenOver: new Set() }));
  const tally: Tally = {
    inputs: 0,
    cases: 0,
    byTransport: { stdio: 0, unix: 0, websocket: 0 },
    byGuise: { plain: 0, token: 0, jwt: 0 },
    byLabel: new Map(),
  };
  const found: { failure: Failure | undefined } = { failure: undefined };
  const run = async (fuzzCase: FuzzCase) => {
    count(fuzzCase, tally);
    const around = surroundings[guises.indexOf(fuzzCase.guise)] ?? assert.fail(`no server is ${fuzzCase.guise}`);
    const problems = [...(await problemsOf(fuzzCase, around)), ...around.target.problems];
    if (problems.length > 0) found.failure ??= { case: fuzzCase, problems };
    progress?.(tally.inputs);
  };
  const before = await Promise.all(targets.map(async (target) => target.belongings()));
  if (only === undefined) {
    const slow = await openLorises(targets);
    let next = 0;
    const lane = async () => {
      while (tally.inputs < inputs && found.failure === undefined) {
        const fuzzCase = makeCase(seed, next);
        next += 1;
        await Promise.all([run(fuzzCase), slow.sendByte(next)]);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    slow.cut();
  } else await run(makeCase(seed, only));
  if (found.failure !== undefined) return { ...tally, ...found, before, after: [] };
  const left = await Promise.all(targets.map(async (target, index) => leftovers(target, before[index] ?? assert.fail())));
  const leaks = left.flatMap((each, index) => each.leaks.map((leak) => `${guises[index]}: ${leak}`));
  const after = left.map((each) => each.after);
  return { ...tally, before, after, failure: leaks.length === 0 ? undefined : { case: undefined, problems: leaks } };
}

async function endAll(targets: readonly FuzzTarget[]): Promise<void> {
  await Promise.all(targets.map(async (target) => target[Symbol.asyncDispose]()));
}

/** The same case alone, against its own server. */
export async function failsAlone(fuzzCase: FuzzCase): Promise<readonly string[]> {
  await using target = await FuzzTarget.start(fuzzCase.guise);
  const problems = await problemsOf(fuzzCase, { target, sessions: [], takenOver: new Set() });
  return [...problems, ...target.problems];
}

/** A crashed server refuses connections: that is reported as a problem of the case, not thrown. */
async function problemsOf(fuzzCase: FuzzCase, surroundings: Surroundings): Promise<string[]> {
  try {
    return await runCase(fuzzCase, surroundings);
  } catch (error) {
    await new Promise((resolve) => setTimeout(resolve, lastWordsMs));
    return [String(error)];
  }
}

interface Tally {
  inputs: number;
  cases: number;
  readonly byTransport: Record<FuzzCase['transport'], number>;
  readonly byGuise: Record<Guise, number>;
  readonly byLabel: Map<string, number>;
}

function count({ transport, guise, inputs, request }: FuzzCase, tally: Tally): void {
  const all = request === undefined ? inputs : [request];
  tally.cases += 1;
  tally.inputs += all.length;
  tally.byTransport[transport] += all.length;
  tally.byGuise[guise] += all.length;
  for (const { label } of all) tally.byLabel.set(label, (tally.byLabel.get(label) ?? 0) + 1);
}

async function openLorises(targets: readonly FuzzTarget[]) {
  const deaf = { message: () => {}, problem: () => {} };
  const wires = await Promise.all(
    targets.flatMap((target) =>
      Array.from({ length: lorises }, async (_, index) => (index % 2 === 0 ? target.knock('TCP') : target.unix(deaf))),
    ),
  );
  const random = new Random(1);
  const text = Buffer.from('GET /a-very-long-way-to-the-end-of-this-line');
  return {
    sendByte: async (turn: number) => void random.pick(wires).send(text.subarray(turn % text.length, (turn % text.length) + 1)),
    cut: () => wires.forEach((wire) => wire.cut()),
  };
}

/**
 * Waits until everything that should go away has gone, and names what remains. One session per caller may remain: the one that holds
 * released processes.
 */
async function leftovers(target: FuzzTarget, before: Belongings): Promise<{ after: Belongings; leaks: string[] }> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    await endEverything(target);
    const after = await target.belongings();
    const leaks = [
      ...(after.sessions > before.sessions + target.callers ? [`${after.sessions} sessions left`] : []),
      ...(['connections', 'processes', 'descriptors', 'children'] as const).flatMap((name) =>
        after[name] > before[name] + allowedMore[name] ? [`${after[name]} ${name} left, there were ${before[name]}`] : [],
      ),
      ...(after.liveMiB > before.liveMiB + allowedGrowthMiB
        ? [`the server holds ${after.liveMiB} MiB, it had ${before.liveMiB}`]
        : []),
    ];
    if (leaks.length === 0 || Date.now() > deadline) return { after, leaks };
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

/** With its first child a server starts a watchdog, with a pipe to it, and opens descriptors to watch children with. */
const allowedMore = { connections: 0, processes: 0, descriptors: 4, children: 1 } as const;
