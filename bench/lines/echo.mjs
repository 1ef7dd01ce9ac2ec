// Round trips through a process that echoes its input.

import { setTimeout as sleep } from 'node:timers/promises';
import { median, quantile } from '../../scripts/measure.mjs';
import { readyMark } from '../content.mjs';
import { catEchoMs, webSocketEchoMs } from '../floors.mjs';
import { defineLine } from '../line.mjs';

/** @import { Content } from '../content.mjs' */
/** @import { Followed } from '../followed.mjs' */
/** @import { Floor } from '../line.mjs' */
/** @import { Peer } from '../peer.mjs' */

const sizesOf = { 64: '64 B', 16_384: '16 KiB' };
const us = /** @type {const} */ ({ unit: 'µs', better: 'lower' });

export const echoLines = /** @type {const} */ (['pipe', 'tty']).flatMap((io) =>
  Object.entries(sizesOf).map(([bytes, label]) =>
    defineLine({
      name: `echo ${label}, ${io}`,
      reads: 'nudge',
      sizes: { full: { count: 1000, warmUps: 2500 }, quick: { count: 30, warmUps: 10 } },
      metrics: {
        p50: { ...us, name: 'p50', atLeast: { ws: 1.2, stdio: 1.8 } },
        p99: { ...us, name: 'p99', atLeast: { ws: 1, stdio: 1 } },
      },
      async measure({ peer, stage, size }) {
        const child = await startEcho(peer, { io, content: stage.content });
        const echo = { content: stage.content, bytes: Number(bytes) };
        await echoTimes(peer, child, { ...echo, count: size.warmUps });
        const times = await echoTimes(peer, child, { ...echo, count: size.count });
        return { p50: quantile(times, 0.5) * 1000, p99: quantile(times, 0.99) * 1000 };
      },
      floor: floorOf(io, Number(bytes)),
    }),
  ),
);

/**
 * @param {'pipe' | 'tty'} io
 * @param {number} bytes
 * @returns {Floor<{ count: number, warmUps: number }> | undefined}
 */
function floorOf(io, bytes) {
  if (io === 'tty') return undefined;
  /** @param {number[]} times */
  const inMicroseconds = (times) => ({ p50: median(times) * 1000, p99: quantile(times, 0.99) * 1000 });
  return {
    name: 'ws: a WebSocket server that only echoes; stdio: cat through pipes',
    measure: async ({ size, transport }) =>
      inMicroseconds(await (transport === 'ws' ? webSocketEchoMs : catEchoMs)({ bytes, count: size.count })),
  };
}

/**
 * Starts `cat` and waits until it is ready. On a terminal, it first turns off echo and all translation.
 * @param {Peer} peer
 * @param {{ io: 'pipe' | 'tty', content: Content }} options
 */
export async function startEcho(peer, { io, content }) {
  const argv = io === 'pipe' ? ['cat'] : ['sh', '-c', `stty raw -echo; printf ${readyMark}; exec cat`];
  const child = peer.start({ argv, io: io === 'pipe' ? 'input' : 'tty', content });
  await child.started;
  if (io === 'tty') await child.hasReceived(readyMark.length);
  return child;
}

/**
 * Milliseconds per echo, one after the other, up to `count` or while `isWanted` returns true, with an optional pause between them.
 * @param {Peer} peer
 * @param {Followed} child
 * @param {{ content: Content, bytes: number, count?: number, isWanted?: () => boolean, pauseMs?: number }} options
 */
export async function echoTimes(peer, child, { content, bytes, count = Infinity, isWanted = () => true, pauseMs }) {
  /** @type {number[]} */
  const times = [];
  while (times.length < count && isWanted()) {
    if (pauseMs !== undefined) await sleep(pauseMs);
    const startedAt = performance.now();
    const due = child.received + bytes;
    const arrived = child.hasReceived(due).then(() => performance.now());
    const [arrivedAt] = await Promise.all([arrived, peer.write(child, content.slice(child.received, bytes))]);
    times.push(arrivedAt - startedAt);
  }
  return times;
}
