// Starting processes: how long one start takes, how many per second, and their CPU time.

import { inParallel, median, quantile } from '../../scripts/measure.mjs';
import { shellSpawnMs } from '../floors.mjs';
import { defineLine } from '../line.mjs';

/** @import { Values } from '../line.mjs' */
/** @import { Peer } from '../peer.mjs' */

const ms = /** @type {const} */ ({ unit: 'ms', better: 'lower' });
const five = { ws: 5, stdio: 5 };

export const spawnLines = /** @type {const} */ (['pipe', 'tty']).map((io) =>
  defineLine({
    name: `spawn, ${io}`,
    reads: 'nudge',
    sizes: { full: { count: 200, warmUps: 600 }, quick: { count: 10, warmUps: 5 } },
    metrics: {
      responseP50: { ...ms, name: 'start → response, p50', atLeast: five },
      responseP95: { ...ms, name: 'start → response, p95', atLeast: five },
      closedP50: { ...ms, name: 'start → closed, p50', atLeast: five },
      closedP95: { ...ms, name: 'start → closed, p95', atLeast: five },
    },
    async measure({ peer, size }) {
      // Warm-up: gets the code compiled, and sets up what all processes share.
      await spawnTimes(peer, { io, count: size.warmUps });
      const times = await spawnTimes(peer, { io, count: size.count });
      /**
       * @param {'response' | 'closed'} moment
       * @param {number} fraction
       */
      const of = (moment, fraction) =>
        quantile(
          times.map((time) => time[moment]),
          fraction,
        );
      return {
        responseP50: of('response', 0.5),
        responseP95: of('response', 0.95),
        closedP50: of('closed', 0.5),
        closedP95: of('closed', 0.95),
      };
    },
    floor: {
      name: 'fork, exec and wait in a small shell',
      measure: async ({ size }) => ({ closedP50: await shellSpawnMs(size.count * 2) }),
    },
  }),
);

/**
 * Milliseconds per start, one after the other.
 * @param {Peer} peer
 * @param {{ io: 'pipe' | 'tty', count: number }} options
 */
export async function spawnTimes(peer, { io, count }) {
  /** @type {{ response: number, closed: number }[]} */
  const times = [];
  while (times.length < count) {
    const startedAt = performance.now();
    const child = peer.start({ argv: ['true'], io });
    await child.started;
    const response = performance.now() - startedAt;
    times.push({ response, closed: (await child.closed) - startedAt });
  }
  return times;
}

const widths = { 1: 'one', 8: 'eight', 32: 'thirtyTwo' };

export const spawnRateLines = [
  defineLine({
    name: 'spawn rate',
    reads: 'nudge',
    sizes: { full: { count: 256, warmUps: 600 }, quick: { count: 32, warmUps: 5 } },
    metrics: {
      one: { name: '1 in flight', unit: '/s', better: 'higher', atLeast: { ws: 6, stdio: 5 } },
      eight: { name: '8 in flight', unit: '/s', better: 'higher', atLeast: { ws: 6, stdio: 5 } },
      thirtyTwo: { name: '32 in flight', unit: '/s', better: 'higher', atLeast: { ws: 6, stdio: 5 } },
      cpu: { ...ms, name: 'CPU time per spawn, server and processes', atLeast: { ws: 4, stdio: 4 } },
    },
    async measure({ peer, server, size }) {
      await spawnTimes(peer, { io: 'pipe', count: size.warmUps });
      /** @type {Values} */
      const values = {};
      /** @type {number[]} */
      const cpu = [];
      for (const [width, name] of Object.entries(widths)) {
        const before = server.cpuSeconds('family');
        const startedAt = performance.now();
        await inParallel({ count: size.count, width: Number(width) }, async () => {
          const child = peer.start({ argv: ['true'] });
          await child.started;
          await child.closed;
        });
        values[name] = size.count / ((performance.now() - startedAt) / 1000);
        cpu.push(((server.cpuSeconds('family') - before) * 1000) / size.count);
      }
      return { ...values, cpu: median(cpu) };
    },
    floor: {
      name: 'fork, exec and wait in a small shell',
      measure: async ({ size }) => ({ one: 1000 / (await shellSpawnMs(size.count * 2)) }),
    },
  }),
];
