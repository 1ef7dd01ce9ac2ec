// One process that writes as fast as it can.

import { catFloodSeconds } from '../floors.mjs';
import { defineLine } from '../line.mjs';

/** @import { Content } from '../content.mjs' */
/** @import { Peer } from '../peer.mjs' */
/** @import { Server } from '../server.mjs' */
/** @import { Stage } from '../stage.mjs' */

export const megabyte = 1_000_000;

const rate = /** @type {const} */ ({ unit: 'MB/s', better: 'higher' });
const cpu = /** @type {const} */ ({ unit: 's/GB', better: 'lower', name: 'server CPU time' });
const memory = /** @type {const} */ ({ unit: 'MB', better: 'lower', name: 'peak server memory' });

export const floodLines = [
  defineLine({
    name: '1 GiB, pipe',
    sizes: { full: { mebibytes: 1024 }, quick: { mebibytes: 16 } },
    metrics: {
      rate: { ...rate, name: 'rate', atLeast: { ws: 2, stdio: 5 } },
      cpu: { ...cpu, atLeast: { ws: 1 / 0.45, stdio: 5 } },
      peak: memory,
    },
    measure: ({ peer, server, stage, size }) => flood({ peer, server, ...pipeFlood(stage, size) }),
    floor: {
      name: 'cat through a pipe',
      measure: async ({ stage, size }) => {
        const { files, total } = stage.flood(size.mebibytes);
        return { rate: total / megabyte / (await catFloodSeconds({ files, total })) };
      },
    },
  }),
  defineLine({
    name: '1 GiB, pipe, binary frames',
    output: 'binary',
    sizes: { full: { mebibytes: 1024 }, quick: { mebibytes: 16 } },
    metrics: {
      rate: { ...rate, name: 'rate; codex as above', atLeast: { ws: 3, stdio: 7 } },
      cpu: { ...cpu, name: `${cpu.name}; codex as above` },
      peak: { ...memory, name: `${memory.name}; codex as above` },
    },
    codexFrom: '1 GiB, pipe',
    measure: ({ peer, server, stage, size }) => flood({ peer, server, ...pipeFlood(stage, size) }),
  }),
  defineLine({
    name: '128 MiB, tty',
    sizes: { full: { mebibytes: 128 }, quick: { mebibytes: 4 } },
    metrics: {
      rate: { ...rate, name: 'rate', atLeast: { ws: 1, stdio: 1.5 } },
      cpu,
    },
    measure: ({ peer, server, stage, size }) => {
      const { files, total } = stage.flood(size.mebibytes);
      const argv = ['sh', '-c', 'stty raw -echo; exec cat "$@"', 'sh', ...files];
      return flood({ peer, server, content: stage.content, total, argv, io: 'tty' });
    },
  }),
];

/**
 * @param {Stage} stage
 * @param {{ mebibytes: number }} size
 */
function pipeFlood(stage, size) {
  const { files, total } = stage.flood(size.mebibytes);
  return { content: stage.content, total, argv: ['cat', ...files], io: /** @type {const} */ ('pipe') };
}

/** @param {{ peer: Peer, server: Server, argv: string[], io: 'pipe' | 'tty', content: Content, total: number }} order */
async function flood({ peer, server, argv, io, content, total }) {
  const cpuBefore = server.cpuSeconds();
  const startedAt = performance.now();
  const closedAt = await peer.start({ argv, io, content, total }).closed;
  const gigabytes = total / megabyte / 1000;
  return {
    rate: total / megabyte / ((closedAt - startedAt) / 1000),
    cpu: (server.cpuSeconds() - cpuBefore) / gigabytes,
    peak: server.memory().peak / megabyte,
  };
}

/** How long the reader stops, in milliseconds: long enough to expose an unbounded buffer. */
const pauseMs = 3_000;

export const stoppedReaderLines = [
  defineLine({
    name: 'reader stopped during 1 GiB',
    sizes: { full: { mebibytes: 1024, pauseMs }, quick: { mebibytes: 64, pauseMs: 300 } },
    metrics: { peak: { ...memory, atLeast: { ws: 1 / 0.85, stdio: 1 / 0.85 } } },
    async measure({ peer, server, stage, size }) {
      const { argv, content, total } = pipeFlood(stage, size);
      const child = peer.start({ argv, content });
      await child.hasReceived(total / 16);
      peer.pause();
      await new Promise((resolve) => setTimeout(resolve, size.pauseMs));
      const peak = server.memory().peak / megabyte;
      peer.resume();
      await child.hasReceived(total / 8); // it continues where it stopped
      await peer.request('process/terminate', { processId: child.id });
      return { peak };
    },
  }),
];
