// A hundred concurrent processes: all at full speed, the same with an echo on the same connection, and all printing short lines.

import { quantile } from '../../scripts/measure.mjs';
import { Content } from '../content.mjs';
import { catFloodSeconds, shellLinesSeconds } from '../floors.mjs';
import { defineLine } from '../line.mjs';
import { echoTimes, startEcho } from './echo.mjs';
import { megabyte } from './flood.mjs';

/** @import { Followed } from '../followed.mjs' */
/** @import { Peer } from '../peer.mjs' */
/** @import { Stage } from '../stage.mjs' */

/** Pause between two echoes, in milliseconds: without it, fast echoes would be over-represented in the sample. */
const pauseMs = 5;

const ms = /** @type {const} */ ({ unit: 'ms', better: 'lower' });

/** @typedef {{ script: string, args: string[], content: Content, total: number }} Spec */

export const hundredLines = [
  defineLine({
    name: '100 processes at full speed',
    sizes: { full: { count: 100, mebibytes: 10 }, quick: { count: 20, mebibytes: 1 } },
    metrics: {
      rate: { name: 'combined rate', unit: 'MB/s', better: 'higher', atLeast: { ws: 2, stdio: 5 } },
      fairness: { name: 'time until the last ends, relative to the first', unit: '×', better: 'lower' },
    },
    async measure({ peer, stage, size }) {
      const { seconds, firstSeconds } = await release(peer, await prepare(peer, hundredFloods(stage, size)));
      return { rate: (size.count * stage.flood(size.mebibytes).total) / megabyte / seconds, fairness: seconds / firstSeconds };
    },
    floor: {
      name: 'cat through pipes',
      measure: async ({ stage, size }) => {
        const { files, total } = stage.flood(size.mebibytes);
        return { rate: (size.count * total) / megabyte / (await catFloodSeconds({ files, total, count: size.count })) };
      },
    },
  }),
  defineLine({
    name: 'echo 64 B alongside 100 processes at full speed',
    reads: 'nudge',
    sizes: { full: { count: 100, mebibytes: 4 }, quick: { count: 20, mebibytes: 1 } },
    metrics: {
      p50: { ...ms, name: 'p50', atLeast: { ws: 3, stdio: 4 } },
      p95: { ...ms, name: 'p95', atLeast: { ws: 1.5, stdio: 4 } },
    },
    async measure({ peer, stage, size }) {
      const { content } = stage;
      const child = await startEcho(peer, { io: 'pipe', content });
      await echoTimes(peer, child, { content, bytes: 64, count: 20 });
      const children = await prepare(peer, hundredFloods(stage, size));
      let isDone = false;
      const [times] = await Promise.all([
        echoTimes(peer, child, { content, bytes: 64, isWanted: () => !isDone, pauseMs }),
        release(peer, children).finally(() => (isDone = true)),
      ]);
      return { p50: quantile(times, 0.5), p95: quantile(times, 0.95) };
    },
  }),
  defineLine({
    name: '100 processes printing short lines',
    sizes: { full: { count: 100, lines: 4000, warmUps: 10 }, quick: { count: 20, lines: 200, warmUps: 1 } },
    metrics: {
      rate: { name: 'lines', unit: '/s', better: 'higher', atLeast: { ws: 1, stdio: 1.5 } },
      cpu: { name: 'server CPU time per line', unit: 'µs', better: 'lower' },
    },
    async measure({ peer, server, size }) {
      const block = Buffer.from(Array.from({ length: size.lines }, (_, line) => `line ${line} of the output\n`).join(''));
      /** @type {Spec} */
      const spec = { script: lineScript(size.lines), args: [], content: new Content(block), total: block.length };
      const specs = Array.from({ length: size.count }, () => spec);
      // Warm-up: a server that has run for a while has compiled its hot code, and the measured lines alone take less than a second.
      await release(peer, await prepare(peer, specs.slice(0, size.warmUps)));
      const children = await prepare(peer, specs);
      const cpuBefore = server.cpuSeconds();
      const { seconds } = await release(peer, children);
      const lines = size.count * size.lines;
      return { rate: lines / seconds, cpu: ((server.cpuSeconds() - cpuBefore) / lines) * 1_000_000 };
    },
    floor: {
      name: 'the shells alone, printing to /dev/null',
      measure: async ({ size }) => {
        const seconds = await shellLinesSeconds({ script: lineScript(size.lines), count: size.count });
        return { rate: (size.count * size.lines) / seconds };
      },
    },
  }),
];

/** @param {number} lines */
function lineScript(lines) {
  return `i=0; while [ $i -lt ${lines} ]; do echo "line $i of the output"; i=$((i + 1)); done`;
}

/**
 * @param {Stage} stage
 * @param {{ count: number, mebibytes: number }} size
 * @returns {Spec[]}
 */
function hundredFloods(stage, { count, mebibytes }) {
  const { files, total } = stage.flood(mebibytes);
  return Array.from({ length: count }, () => ({ script: 'exec cat "$@"', args: files, content: stage.content, total }));
}

/**
 * Starts processes that wait for a line before they begin, so that their start-up time does not count.
 * @param {Peer} peer
 * @param {Spec[]} specs
 */
export async function prepare(peer, specs) {
  /** @type {Followed[]} */
  const children = [];
  for (const { script, args, content, total } of specs) {
    const child = peer.start({ argv: ['sh', '-c', `read go; ${script}`, 'sh', ...args], io: 'input', content, total });
    await child.started;
    children.push(child);
  }
  return children;
}

/**
 * Lets all of them begin. Returns the seconds from then until the first and until the last has ended.
 * @param {Peer} peer
 * @param {Followed[]} children
 */
export async function release(peer, children) {
  const startedAt = performance.now();
  await Promise.all(children.map((child) => peer.write(child, Buffer.from('go\n'))));
  const ends = await Promise.all(children.map(({ closed }) => closed));
  /** @param {number} moment */
  const secondsTo = (moment) => (moment - startedAt) / 1000;
  return { seconds: secondsTo(Math.max(...ends)), firstSeconds: secondsTo(Math.min(...ends)) };
}
