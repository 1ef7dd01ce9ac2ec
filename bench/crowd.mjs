// Measures what ending a process costs on a machine that runs many others, compared with a bare posix_spawn in the same run: with more and
// more idle processes, with loops of short ones, and when thousands of Sluice's own end at once. No figure makes it fail.
//
//   npm run bench:crowd -- [--quick] [--json]

import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect, connectInProcess } from '../dist/index.js';
import { loadLibc } from '../dist/process/linux/libc.js';
import { Spawner } from '../dist/process/linux/spawner.js';
import { Crowd } from '../dist-test/support/crowd.js';
import { childPids } from '../dist-test/support/proc.js';
import { SluiceServer, program } from '../dist-test/support/sluice-server.js';
import { env, median, quantile, tableHead, tableRow } from '../scripts/measure.mjs';

/** @import { Client } from '../dist/index.js' */

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const { counts, rounds, own } = options.quick
  ? { counts: [100, 500], rounds: 10, own: 200 }
  : { counts: [100, 1_000, 5_000], rounds: 60, own: 5_000 };
const churnLoops = 6;
/** Rounds before the first that counts: code that is not compiled yet would make the later columns look better. */
const warmUp = rounds / 2;

const libc = loadLibc() ?? noLinuxBackend();

const crowdTable = await benchCrowds();
const mass = await benchMassEnding();
if (options.json) console.log(JSON.stringify({ crowd: crowdTable, mass }, undefined, 2));
else print();

function noLinuxBackend() {
  console.log('Only the Linux backend follows trees; there is nothing to compare here.');
  return process.exit(0);
}

async function benchCrowds() {
  const server = await startServer(own);
  const remote = await connect(server.url);
  // Must come first: once a program adopts orphans, it does so for the rest of its life.
  const embedded = connectInProcess();
  // Groups measured while this program does not adopt orphans come first. Each group has its own bare case, since a busy machine varies.
  /** @type {Record<string, () => Promise<unknown>>[]} */
  const groups = [
    {
      'bare posix_spawn of true': () => bareTrue(),
      'in-process, embedded: command/exec': () => embedded.exec(['true'], { env }),
      'WebSocket: command/exec': () => remote.exec(['true'], { env }),
    },
    {
      'bare posix_spawn of sleep, killed': () => bareKill(),
      'in-process, embedded: terminate': () => endOne(embedded),
      'WebSocket: terminate': () => endOne(remote),
    },
    {
      'bare posix_spawn of true, again': () => bareTrue(),
      'in-process, adopting: command/exec': () => adopting().exec(['true'], { env }),
    },
    {
      'bare posix_spawn of sleep, killed, again': () => bareKill(),
      'in-process, adopting: terminate': () => endOne(adopting()),
    },
    {
      'bare posix_spawn of node -e 0': async () => collect(spawnBare(process.execPath, ['node', '-e', '0'])),
      'sluice exec -- true': async () => spawnSync(program, ['exec', '--', 'true'], { env, stdio: 'ignore' }),
    },
  ];
  /** @type {Client | undefined} */
  let adoptingClient;
  function adopting() {
    adoptingClient ??= connectInProcess({ orphans: 'adopt' });
    return adoptingClient;
  }
  const columns = [
    ...counts.map((count) => ({ name: `${count} idle`, start: () => Crowd.idle(count) })),
    { name: `${churnLoops} loops`, start: () => Crowd.churn(churnLoops) },
  ];
  /** @type {Record<string, Record<string, number>>[]} by group, way and column */
  const medians = groups.map((group) => Object.fromEntries(Object.keys(group).map((way) => [way, {}])));
  for (const [index, group] of groups.entries()) {
    for (const column of columns) {
      const crowd = await column.start();
      const times = new Map(Object.keys(group).map((way) => [way, /** @type {number[]} */ ([])]));
      for (let round = -warmUp; round < rounds; round += 1) {
        for (const [way, work] of Object.entries(group)) {
          const startedAt = performance.now();
          await work();
          if (round >= 0) times.get(way)?.push(performance.now() - startedAt);
        }
      }
      for (const [way, list] of times) medians[index][way][column.name] = median(list);
      await crowd[Symbol.asyncDispose]();
      await sleep(1_000); // until the machine has cleaned them up
    }
  }
  await embedded.close();
  await adoptingClient?.close();
  await remote.close();
  await server.stop();
  return medians;
}

/** The bare cost of a start and an end: no pipes to read, no tree to follow. */
async function bareTrue() {
  collect(spawnBare('/bin/true', ['true']));
}

async function bareKill() {
  const pid = spawnBare('/bin/sleep', ['sleep', '1000']);
  process.kill(pid, 'SIGTERM');
  collect(pid);
}

/**
 * @param {string} file
 * @param {string[]} argv
 */
function spawnBare(file, argv) {
  const stdio = /** @type {const} */ ({ kind: 'pipes', stdin: undefined, stdout: 1, stderr: 2 });
  const pid = new Spawner(libc, []).spawn({ file, argv, cwd: '/', env, stdio, fd3: undefined });
  if (typeof pid === 'string') throw new Error(`${file} cannot be started: ${pid}`);
  return pid;
}

/** @param {number} pid */
function collect(pid) {
  libc.wait4(pid, new Int32Array(1), 0, Buffer.alloc(256));
}

/** @param {Client} client */
async function endOne(client) {
  const child = await client.start({ argv: ['sleep', '1000'], env });
  await child.terminate();
  await child.closed;
}

/** Closes the connection that owns thousands of processes, and makes calls over another one until they are gone. */
async function benchMassEnding() {
  const server = await startServer(own + 1_000);
  const owner = await connect(server.url);
  const other = await connect(server.url);
  for (let started = 0; started < own; started += 50) {
    await Promise.all(Array.from({ length: 50 }, () => owner.start({ argv: ['sleep', '1000'], env })));
  }
  const left = () => childPids(server.child.pid ?? 0).length;
  const startedAt = performance.now();
  void owner.close();
  /** @type {number[]} */
  const waits = [];
  while (left() > 1) {
    const askedAt = performance.now();
    await other.list();
    waits.push(performance.now() - askedAt);
    await sleep(1);
  }
  const tookMs = performance.now() - startedAt;
  await other.close();
  await server.stop();
  return { own, tookMs, calls: waits.length, p50: median(waits), p99: quantile(waits, 0.99), max: Math.max(...waits) };
}

/** @param {number} maxProcesses */
function startServer(maxProcesses) {
  return SluiceServer.start('websocket', ['--max-processes', String(maxProcesses), '--log-level', 'error']);
}

function print() {
  console.log(
    `Median milliseconds from the call to the end, of ${rounds} rounds; in parentheses the growth from the first column, and that growth ` +
      'relative to the growth of the bare row above it.\n',
  );
  const names = Object.keys(Object.values(crowdTable[0])[0]);
  console.log(tableHead('', ...names));
  for (const group of crowdTable) {
    /**
     * @param {Record<string, number>} row
     * @param {string} name
     */
    const growth = (row, name) => row[name] / row[names[0]];
    const [bare] = Object.values(group);
    for (const [way, row] of Object.entries(group)) {
      const cells = names.map((name, index) => {
        const ofBare = row === bare ? '' : `, ${(growth(row, name) / growth(bare, name)).toFixed(2)} of bare`;
        return index === 0 ? row[name].toFixed(2) : `${row[name].toFixed(2)} (${growth(row, name).toFixed(2)} ×${ofBare})`;
      });
      console.log(tableRow(way, ...cells));
    }
  }
  console.log(
    `\n${mass.own} processes ended by closing their connection: ${(mass.tookMs / 1000).toFixed(2)} s. ` +
      `${mass.calls} concurrent calls over another connection: p50 ${mass.p50.toFixed(1)} ms, p99 ${mass.p99.toFixed(1)} ms, longest ${mass.max.toFixed(1)} ms.`,
  );
}
