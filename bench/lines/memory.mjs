// Memory of the server: idle, with idle processes, and after many processes have ended. Over ws only, since it is the same server over
// stdio. The processes' own memory does not count.

import { setTimeout as sleep } from 'node:timers/promises';
import { inParallel } from '../../scripts/measure.mjs';
import { defineLine } from '../line.mjs';
import { megabyte } from './flood.mjs';

/** @import { Content } from '../content.mjs' */
/** @import { Peer } from '../peer.mjs' */

const kibibyte = 1024;

/** Time for work that follows a reply, and for returning memory, in milliseconds. */
const settleMs = 1_000;

/** Processes started before those that count: the first ones allocate what all share. */
const firstCount = 20;

export const memoryLines = [
  defineLine({
    name: 'idle memory',
    transports: ['ws'],
    sizes: { full: { count: 200, settleMs }, quick: { count: 20, settleMs: 200 } },
    metrics: {
      idle: { name: 'server without processes', unit: 'MB', better: 'lower', atLeast: { ws: 1 / 0.85 } },
      pipe: { name: 'additional per idle process, pipe', unit: 'KiB', better: 'lower', atLeast: { ws: 1 / 0.9 } },
      tty: { name: 'additional per idle process, tty', unit: 'KiB', better: 'lower', atLeast: { ws: 2 } },
    },
    async measure({ peer, server, stage, size }) {
      await sleep(size.settleMs);
      const idle = server.memory().now / megabyte;
      /** @param {'input' | 'tty'} io */
      const perProcess = async (io) => {
        await startIdle(peer, { io, count: firstCount, content: stage.content });
        await sleep(size.settleMs);
        const before = server.memory().now;
        await startIdle(peer, { io, count: size.count, content: stage.content });
        await sleep(size.settleMs);
        // Less than a page per process cannot be measured.
        return Math.max(server.memory().now - before, size.count * kibibyte) / size.count / kibibyte;
      };
      const pipe = await perProcess('input');
      return { idle, pipe, tty: await perProcess('tty') };
    },
  }),
  defineLine({
    name: 'memory after 4000 short processes',
    transports: ['ws'],
    sizes: { full: { count: 4000, settleMs }, quick: { count: 40, settleMs: 200 } },
    metrics: { after: { name: 'server, after all have ended', unit: 'MB', better: 'lower', atLeast: { ws: 1 / 0.75 } } },
    async measure({ peer, server, size }) {
      await inParallel({ count: size.count, width: 8 }, () => peer.start({ argv: ['true'] }).closed);
      await sleep(size.settleMs);
      return { after: server.memory().now / megabyte };
    },
  }),
];

/**
 * Starts `cat` processes that are never written to.
 * @param {Peer} peer
 * @param {{ io: 'input' | 'tty', count: number, content: Content }} options
 */
export async function startIdle(peer, { io, count, content }) {
  for (let number = 0; number < count; number += 1) await peer.start({ argv: ['cat'], io, content }).started;
}
