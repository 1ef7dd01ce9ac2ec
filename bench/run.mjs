// Runs lines in rounds. In each round each line is measured on each server in turn, so that a busy minute affects all of them equally;
// each measurement has its own server, so that no line depends on those before it.

import { asError } from './inbox.mjs';
import { Server } from './server.mjs';

/** @import { AnyLine, Transport, Values } from './line.mjs' */
/** @import { Target } from './server.mjs' */
/** @import { Stage } from './stage.mjs' */
/** @import { Sample } from './summary.mjs' */

/** A measurement that takes this long hangs, in milliseconds. Slow runs must not fail; this is far beyond slow. */
const hangMs = 240_000;

/** @typedef {{ bytes: number, events: number, reordered: number }} Checked */
/** @typedef {{ label: string, problem: string }} Failure */

/**
 * @typedef {object} Plan
 * @property {AnyLine[]} lines
 * @property {Transport[]} transports
 * @property {number} rounds
 * @property {'full' | 'quick'} sizes
 * @property {Target} sluice
 * @property {Record<'native' | 'launcher', Target> | undefined} codex
 * @property {Stage} stage
 * @property {(text: string) => void} say
 */
/** @typedef {{ kind: Sample['contender'], measure: (on: { transport: Transport, checked: Checked }) => Promise<Values> }} Contender */

/** @param {Plan} plan */
export async function run(plan) {
  /** @type {Sample[]} */
  const samples = [];
  /** @type {Failure[]} */
  const failures = [];
  const checked = { bytes: 0, events: 0, reordered: 0 };
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const line of plan.lines) {
      for (const transport of plan.transports.filter((name) => (line.transports ?? ['ws', 'stdio']).includes(name))) {
        for (const contender of contendersOf(line, plan, round)) {
          const label = `${line.name}, ${transport}, ${contender.kind}`;
          try {
            const startedAt = performance.now();
            const values = await withinTime(contender.measure({ transport, checked }), label);
            samples.push({ line: line.name, transport, contender: contender.kind, round, values });
            const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
            plan.say(`round ${round + 1}/${plan.rounds}: ${label}: ${shown(values)} in ${seconds} s`);
          } catch (error) {
            const { message, stack } = asError(error);
            failures.push({ label, problem: message });
            plan.say(`FAILED: ${label}: ${stack}`);
          }
        }
      }
    }
  }
  return { samples, failures, checked };
}

/**
 * The order of the servers alternates between rounds.
 * @param {AnyLine} line
 * @param {Plan} plan
 * @param {number} round
 */
function contendersOf(line, { sluice, codex, stage, sizes }, round) {
  const size = line.sizes[sizes];
  /** @type {{ kind: 'sluice' | 'codex', target: Target }[]} */
  const servers = [{ kind: 'sluice', target: sluice }];
  const codexTarget = codex?.[line.codex ?? 'native'];
  if (codexTarget !== undefined && line.codexFrom === undefined && line.only !== 'sluice') {
    servers.push({ kind: 'codex', target: codexTarget });
  }
  if (round % 2 === 1) servers.reverse();
  /** @type {Contender[]} */
  const contenders = servers.map(({ kind, target }) => ({
    kind,
    measure: ({ transport, checked }) => measureServer({ line, target, transport, stage, size, checked }),
  }));
  const { floor } = line;
  if (floor !== undefined)
    contenders.push({ kind: 'floor', measure: ({ transport }) => floor.measure({ stage, size, transport }) });
  return contenders;
}

/** @param {{ line: AnyLine, target: Target, transport: Transport, stage: Stage, size: object, checked: Checked }} order */
async function measureServer({ line, target, transport, stage, size, checked }) {
  if (line.measureTarget !== undefined) return line.measureTarget({ target, transport, stage, size });
  const server = await Server.launch(target, { transport, env: stage.env, flags: line.flags });
  try {
    const peer = await server.connect({ reads: line.reads, output: line.output });
    return (await line.measure?.({ peer, server, stage, size, transport })) ?? {};
  } finally {
    for (const { bytes, events, reordered } of server.counts) {
      checked.bytes += bytes;
      checked.events += events;
      checked.reordered += reordered;
    }
    await server.stop();
  }
}

/**
 * @template T
 * @param {Promise<T>} measurement
 * @param {string} label
 */
async function withinTime(measurement, label) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${label} hangs`)), hangMs);
  });
  try {
    return await Promise.race([measurement, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {Values} values */
function shown(values) {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`)
    .join(', ');
}
