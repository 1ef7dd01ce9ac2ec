// Runs lines in rounds. In each round each line is measured on each server in turn, so that a busy minute hits all alike; each
// measurement has a server of its own, so that no line depends on those before it.

import { Server } from './server.mjs';

/** A measurement that takes this long hangs, in milliseconds. Slow is no reason to fail; this is far beyond slow. */
const hangMs = 240_000;

/**
 * @param {object} plan
 * @param {object[]} plan.lines
 * @param {('ws' | 'stdio')[]} plan.transports
 * @param {number} plan.rounds
 * @param {'full' | 'quick'} plan.sizes
 * @param {import('./server.mjs').Target} plan.sluice
 * @param {{native: object, launcher: object} | undefined} plan.codex
 * @param {import('./stage.mjs').Stage} plan.stage
 * @param {(text: string) => void} plan.say
 */
export async function run(plan) {
  const samples = [];
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
            failures.push({ label, problem: error.message });
            plan.say(`FAILED: ${label}: ${error.stack}`);
          }
        }
      }
    }
  }
  return { samples, failures, checked };
}

/** Who goes first changes from round to round. */
function contendersOf(line, { sluice, codex, stage, sizes }, round) {
  const size = line.sizes[sizes];
  const servers = [{ kind: 'sluice', target: sluice }];
  const codexTarget = codex?.[line.codex ?? 'native'];
  if (codexTarget !== undefined && line.codexFrom === undefined && line.only !== 'sluice') {
    servers.push({ kind: 'codex', target: codexTarget });
  }
  if (round % 2 === 1) servers.reverse();
  const contenders = servers.map(({ kind, target }) => ({
    kind,
    measure: ({ transport, checked }) => measureServer({ line, target, transport, stage, size, checked }),
  }));
  if (line.floor !== undefined) {
    contenders.push({ kind: 'floor', measure: ({ transport }) => line.floor.measure({ stage, size, transport }) });
  }
  return contenders;
}

async function measureServer({ line, target, transport, stage, size, checked }) {
  if (line.measureTarget !== undefined) return line.measureTarget({ target, transport, stage, size });
  const server = await Server.launch(target, { transport, env: stage.env, flags: line.flags });
  try {
    const peer = await server.connect({ reads: line.reads, output: line.output });
    return await line.measure({ peer, server, stage, size, transport });
  } finally {
    for (const counts of server.counts) for (const name of Object.keys(checked)) checked[name] += counts[name];
    await server.stop();
  }
}

async function withinTime(measurement, label) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${label} hangs`)), hangMs);
  });
  try {
    return await Promise.race([measurement, late]);
  } finally {
    clearTimeout(timer);
  }
}

function shown(values) {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`)
    .join(', ');
}
