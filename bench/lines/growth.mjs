// How the cost of Sluice grows with its load. Measures no other server: each figure is compared with the first of its kind.

import { inParallel, median } from '../../scripts/measure.mjs';
import { defineLine } from '../line.mjs';
import { echoTimes, startEcho } from './echo.mjs';
import { megabyte } from './flood.mjs';
import { prepare, release } from './hundred.mjs';
import { startIdle } from './memory.mjs';
import { spawnTimes } from './spawn.mjs';

/** @import { Metric, Transport, Values } from '../line.mjs' */
/** @import { Peer } from '../peer.mjs' */
/** @import { Stage } from '../stage.mjs' */

/** @type {{ only: 'sluice', transports: Transport[] }} */
const sluiceOnly = { only: 'sluice', transports: ['ws'] };

/** Flat within 1.5×. */
const flat = { ws: 1 / 1.5 };

const liveCounts = { full: [1, 10, 100, 1000], quick: [1, 10] };
const connectionCounts = { full: [1, 10, 100], quick: [1, 10] };
const kibibyte = 1024;
/** @type {Record<string, number>} */
const outputs = {
  '1 KiB': kibibyte,
  '32 KiB': 32 * kibibyte,
  '1 MiB': kibibyte ** 2,
  '32 MiB': 32 * kibibyte ** 2,
  '1 GiB': kibibyte ** 3,
};

/**
 * One figure per count, compared with the figure for the first count.
 * @param {readonly (string | number)[]} keys
 * @param {Pick<Metric, 'unit' | 'better' | 'atLeast'> & { key: string, name: (count: string | number) => string }} figure
 * @returns {Record<string, Metric>}
 */
function metricsOf(keys, { key, name, ...rest }) {
  const against = `${key} ${keys[0]}`;
  return Object.fromEntries(keys.map((count) => [`${key} ${count}`, { ...rest, name: name(count), against }]));
}

const spawnFigure = /** @type {const} */ ({ key: 'spawn', unit: 'ms', better: 'lower' });
const echoFigure = /** @type {const} */ ({ key: 'echo', unit: 'µs', better: 'lower' });
const memoryFigure = /** @type {const} */ ({ key: 'memory', unit: 'MB', better: 'lower' });

export const growthLines = [
  defineLine({
    ...sluiceOnly,
    name: 'growth, live processes',
    sizes: { full: { counts: liveCounts.full, samples: 60 }, quick: { counts: liveCounts.quick, samples: 5 } },
    metrics: {
      ...metricsOf(liveCounts.full, { ...spawnFigure, name: (count) => `start → closed p50 with ${count}`, atLeast: flat }),
      ...metricsOf(liveCounts.full, { ...echoFigure, name: (count) => `echo 64 B p50 with ${count}` }),
      ...metricsOf(liveCounts.full, { ...memoryFigure, name: (count) => `memory with ${count}` }),
    },
    async measure({ peer, server, stage, size }) {
      const { content } = stage;
      /** @type {Values} */
      const values = {};
      await spawnTimes(peer, { io: 'pipe', count: size.samples });
      const echo = await startEcho(peer, { io: 'pipe', content });
      await echoTimes(peer, echo, { content, bytes: 64, count: 5 * size.samples });
      let live = 1; // the echo
      for (const count of size.counts) {
        await startIdle(peer, { io: 'input', count: count - live, content });
        live = count;
        values[`spawn ${count}`] = await spawnP50(peer, size.samples);
        values[`echo ${count}`] = median(await echoTimes(peer, echo, { content, bytes: 64, count: size.samples })) * 1000;
        values[`memory ${count}`] = server.memory().now / megabyte;
      }
      return values;
    },
  }),
  defineLine({
    ...sluiceOnly,
    name: 'growth, retained output',
    flags: ['--max-closed-bytes', '2GiB', '--keep-closed-ms', '3600000', '--max-closed', '8192'],
    sizes: { full: { mebibytes: 1000, samples: 60 }, quick: { mebibytes: 20, samples: 5 } },
    metrics: metricsOf(['no', '1 GB'], {
      ...spawnFigure,
      name: (bytes) => `start → closed p50 with ${bytes} retained`,
      atLeast: flat,
    }),
    async measure({ peer, stage, size }) {
      await spawnTimes(peer, { io: 'pipe', count: size.samples });
      const before = await spawnP50(peer, size.samples);
      const { file, fileBytes: total, content } = stage;
      await inParallel({ count: size.mebibytes, width: 4 }, () => peer.start({ argv: ['cat', file], content, total }).closed);
      return { 'spawn no': before, 'spawn 1 GB': await spawnP50(peer, size.samples) };
    },
  }),
];

export const growthTables = [
  ...growthLines,
  defineLine({
    ...sluiceOnly,
    name: 'growth, writing processes',
    sizes: {
      full: { counts: liveCounts.full, totalBytes: 256 * kibibyte ** 2 },
      quick: { counts: [1, 10], totalBytes: 4 * kibibyte ** 2 },
    },
    metrics: metricsOf(liveCounts.full, {
      key: 'rate',
      name: (count) => `combined rate of ${count}`,
      unit: 'MB/s',
      better: 'higher',
    }),
    async measure({ peer, stage, size }) {
      /** @type {Values} */
      const values = {};
      for (const count of size.counts) {
        const total = Math.floor(size.totalBytes / count);
        const { script, args } = printing(stage, total);
        const specs = Array.from({ length: count }, () => ({ script, args, content: stage.content, total }));
        const { seconds } = await release(peer, await prepare(peer, specs));
        values[`rate ${count}`] = (count * total) / megabyte / seconds;
      }
      return values;
    },
  }),
  defineLine({
    ...sluiceOnly,
    name: 'growth, connections',
    sizes: { full: { counts: connectionCounts.full, samples: 100 }, quick: { counts: connectionCounts.quick, samples: 10 } },
    metrics: {
      ...metricsOf(connectionCounts.full, {
        key: 'rate',
        name: (count) => `spawns per second over ${count}`,
        unit: '/s',
        better: 'higher',
      }),
      ...metricsOf(connectionCounts.full, {
        ...echoFigure,
        name: (count) => `echo 64 B p50 with ${count}, each with a process`,
      }),
      ...metricsOf(connectionCounts.full, { ...memoryFigure, name: (count) => `memory with ${count}` }),
    },
    async measure({ peer, server, stage, size }) {
      const { content } = stage;
      /** @type {Values} */
      const values = {};
      const peers = [peer];
      await spawnTimes(peer, { io: 'pipe', count: size.samples });
      const echo = await startEcho(peer, { io: 'pipe', content });
      await echoTimes(peer, echo, { content, bytes: 64, count: 5 * size.samples });
      for (const count of size.counts) {
        for (; peers.length < count; await startIdle(peers[peers.length - 1], { io: 'input', count: 1, content }))
          peers.push(await server.connect());
        const startedAt = performance.now();
        await inParallel({ count: size.samples, width: 8 }, (turn) => peers[turn % count].start({ argv: ['true'] }).closed);
        values[`rate ${count}`] = size.samples / ((performance.now() - startedAt) / 1000);
        values[`echo ${count}`] = median(await echoTimes(peer, echo, { content, bytes: 64, count: size.samples })) * 1000;
        values[`memory ${count}`] = server.memory().now / megabyte;
      }
      return values;
    },
  }),
  defineLine({
    ...sluiceOnly,
    name: 'growth, output',
    sizes: { full: { outputs: Object.keys(outputs) }, quick: { outputs: Object.keys(outputs).slice(0, 3) } },
    metrics: {
      ...metricsOf(Object.keys(outputs), {
        key: 'time',
        name: (bytes) => `start → closed of ${bytes}`,
        unit: 'ms',
        better: 'lower',
      }),
      ...metricsOf(Object.keys(outputs), {
        key: 'peak',
        name: (bytes) => `peak memory so far after ${bytes}`,
        unit: 'MB',
        better: 'lower',
      }),
    },
    async measure({ peer, server, stage, size }) {
      await spawnTimes(peer, { io: 'pipe', count: 20 });
      /** @type {Values} */
      const values = {};
      for (const name of size.outputs) {
        const total = outputs[name];
        const { script, args } = printing(stage, total);
        /** @type {number[]} */
        const times = [];
        // Small outputs take so little time that one sample says little.
        while (times.length < (total > kibibyte ** 2 ? 1 : 20)) {
          const startedAt = performance.now();
          const child = peer.start({ argv: ['sh', '-c', script, 'sh', ...args], content: stage.content, total });
          times.push((await child.closed) - startedAt);
        }
        values[`time ${name}`] = median(times);
        values[`peak ${name}`] = server.memory().peak / megabyte;
      }
      return values;
    },
  }),
];

/**
 * @param {Peer} peer
 * @param {number} count
 */
async function spawnP50(peer, count) {
  return median((await spawnTimes(peer, { io: 'pipe', count })).map(({ closed }) => closed));
}

/**
 * A shell script that prints exactly `total` bytes: the whole file as often as it fits, then a part of it.
 * @param {Stage} stage
 * @param {number} total
 */
function printing(stage, total) {
  const whole = Math.floor(total / stage.fileBytes);
  const rest = `head -c ${total - whole * stage.fileBytes} "$1"`;
  return { script: whole === 0 ? rest : `cat "$@"; ${rest}`, args: stage.flood(Math.max(1, whole)).files };
}
