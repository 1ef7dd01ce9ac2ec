// Time from the start of the program to the reply to `initialize`, compared with a Node that does nothing.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { median } from '../../scripts/measure.mjs';
import { ownSession } from '../environment.mjs';
import { Server } from '../server.mjs';
import { defineLine } from '../line.mjs';

/** @import { Transport } from '../line.mjs' */
/** @import { Target } from '../server.mjs' */
/** @import { Stage } from '../stage.mjs' */

const sizes = { full: { count: 7 }, quick: { count: 2 } };
const ms = /** @type {const} */ ({ unit: 'ms', better: 'lower' });

/** "≤ 1.9× of bare node", inverted, because a ratio above 1 is better. */
const ofBareNode = { ws: 1 / 1.9, stdio: 1 / 1.35 };

export const coldStartLines = [
  defineLine({
    name: 'cold start',
    sizes,
    metrics: {
      reply: { ...ms, name: 'program → initialize reply' },
      overNode: { ...ms, name: 'the same, relative to a bare node that writes a byte', against: 'floor', atLeast: ofBareNode },
    },
    async measureTarget(order) {
      const reply = await coldStartMs(order);
      return { reply, overNode: reply };
    },
    floor: {
      name: 'a bare node, until it writes a byte',
      measure: async ({ size, stage }) => ({ overNode: await bareNodeMs({ count: size.count, env: stage.env, until: 'byte' }) }),
    },
  }),
  defineLine({
    name: 'cold start, codex as npm installs it',
    sizes,
    codex: 'launcher',
    metrics: { reply: { ...ms, name: 'program → initialize reply', atLeast: { ws: 1, stdio: 1 } } },
    measureTarget: async (order) => ({ reply: await coldStartMs(order) }),
    floor: {
      name: 'node -e 0, until it exits',
      measure: async ({ size, stage }) => ({ reply: await bareNodeMs({ count: size.count, env: stage.env, until: 'exit' }) }),
    },
  }),
];

/** @param {{ target: Target, transport: Transport, stage: Stage, size: { count: number } }} order */
async function coldStartMs({ target, transport, stage, size }) {
  /** @type {number[]} */
  const times = [];
  while (times.length < size.count) {
    const startedAt = performance.now();
    const server = await Server.launch(target, { transport, env: stage.env });
    try {
      await server.connect();
      times.push(performance.now() - startedAt);
    } finally {
      await server.stop();
    }
  }
  return median(times);
}

/** @param {{ count: number, env: Record<string, string>, until: 'byte' | 'exit' }} order */
async function bareNodeMs({ count, env, until }) {
  /** @type {number[]} */
  const times = [];
  while (times.length < count) {
    const startedAt = performance.now();
    const script = until === 'byte' ? 'process.stdout.write("x")' : '0';
    const child = spawn(process.execPath, ['-e', script], { env, stdio: ['ignore', 'pipe', 'ignore'], ...ownSession });
    const exit = once(child, 'exit');
    await (until === 'byte' ? once(child.stdout, 'data') : exit);
    times.push(performance.now() - startedAt);
    await exit;
  }
  return median(times);
}
