// Shows what ending a process costs on a machine that runs much else, beside a bare posix_spawn in the same run: with more and more idle
// processes, with loops of short ones, and when thousands of Sluice's own end at once. Figures only: no figure makes it fail.
//
//   npm run bench:crowd -- [--quick] [--json]

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect, connectInProcess } from '../dist/index.js';
import { loadLibc } from '../dist/process/linux/libc.js';
import { Spawner } from '../dist/process/linux/spawner.js';
import { median, quantile, tableHead, tableRow } from './measure.mjs';
import { root } from './tool.mjs';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const { counts, rounds, own } = options.quick
  ? { counts: [100, 500], rounds: 10, own: 200 }
  : { counts: [100, 1_000, 5_000], rounds: 60, own: 5_000 };
const churnLoops = 6;
/** Rounds before the first that counts: code that has not been compiled yet would flatter the later columns. */
const warmUp = rounds / 2;

const { bin } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const program = path.join(root, bin.sluice);
const env = { PATH: process.env.PATH };

const libc = loadLibc();
if (libc === undefined) {
  console.log('Only the Linux backend follows trees; there is nothing to compare here.');
  process.exit(0);
}

const crowdTable = await benchCrowds();
const mass = await benchMassEnding();
if (options.json) console.log(JSON.stringify({ crowd: crowdTable, mass }, undefined, 2));
else print();

async function benchCrowds() {
  const server = await startServer(own);
  const remote = await connect(server.url);
  // In this order: a program adopts orphans for the rest of its life.
  const embedded = connectInProcess();
  // What is measured while this program does not adopt orphans comes first. Each group has a bare one of its own: a busy machine varies.
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
  let adoptingClient;
  function adopting() {
    adoptingClient ??= connectInProcess({ orphans: 'adopt' });
    return adoptingClient;
  }
  const columns = [
    ...counts.map((count) => ({
      name: `${count} idle`,
      script: `trap : TERM; i=0; while [ $i -lt ${count} ]; do sleep 10000 & i=$((i + 1)); done; echo; wait; wait`,
      copies: 1,
    })),
    { name: `${churnLoops} loops`, script: 'trap "exit 0" TERM; echo; while :; do /bin/true; done', copies: churnLoops },
  ];
  const medians = groups.map((group) => Object.fromEntries(Object.keys(group).map((way) => [way, {}])));
  for (const [index, group] of groups.entries()) {
    for (const column of columns) {
      const leaders = await startCrowd(column);
      const times = new Map(Object.keys(group).map((way) => [way, []]));
      for (let round = -warmUp; round < rounds; round += 1) {
        for (const [way, work] of Object.entries(group)) {
          const startedAt = performance.now();
          await work();
          if (round >= 0) times.get(way).push(performance.now() - startedAt);
        }
      }
      for (const [way, list] of times) medians[index][way][column.name] = median(list);
      await endCrowd(leaders);
    }
  }
  await embedded.close();
  await adoptingClient?.close();
  await remote.close();
  await server.stop();
  return medians;
}

/** What a start and an end cost by themselves: no pipes to read, no tree to look at. */
async function bareTrue() {
  collect(spawnBare('/bin/true', ['true']));
}

async function bareKill() {
  const pid = spawnBare('/bin/sleep', ['sleep', '1000']);
  process.kill(pid, 'SIGTERM');
  collect(pid);
}

function spawnBare(file, argv) {
  const stdio = { kind: 'pipes', stdin: undefined, stdout: 1, stderr: 2 };
  return new Spawner(libc, []).spawn({ file, argv, cwd: '/', env, stdio });
}

function collect(pid) {
  libc.wait4(pid, new Int32Array(1), 0, Buffer.alloc(256));
}

async function endOne(client) {
  const child = await client.start({ argv: ['sleep', '1000'], env });
  await child.terminate();
  await child.closed;
}

/** Closes the connection that owns thousands of processes, and asks for something over another one until they are gone. */
async function benchMassEnding() {
  const server = await startServer(own + 1_000);
  const owner = await connect(server.url);
  const other = await connect(server.url);
  for (let started = 0; started < own; started += 50) {
    await Promise.all(Array.from({ length: 50 }, () => owner.start({ argv: ['sleep', '1000'], env })));
  }
  const left = () => readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ').length - 1;
  const startedAt = performance.now();
  void owner.close();
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

async function startServer(maxProcesses) {
  const flags = ['--listen', 'ws://127.0.0.1:0', '--max-processes', String(maxProcesses), '--log-level', 'error'];
  const child = spawn(program, ['serve', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  const stop = async () => {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  };
  return { url: String(line).trim(), pid: child.pid, stop };
}

async function startCrowd({ script, copies }) {
  const leaders = Array.from({ length: copies }, () =>
    spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  await Promise.all(leaders.map((leader) => once(leader.stdout, 'data')));
  return leaders;
}

async function endCrowd(leaders) {
  for (const leader of leaders) {
    const exit = once(leader, 'exit');
    process.kill(-leader.pid, 'SIGTERM'); // each shell collects its own children
    await exit;
  }
  await sleep(1_000); // the machine gets rid of them
}

function print() {
  console.log(
    `Median milliseconds from the call to the end, of ${rounds} rounds; in brackets the growth from the first column, and that growth ` +
      'beside the growth of the bare one above it.\n',
  );
  const names = Object.keys(Object.values(crowdTable[0])[0]);
  console.log(tableHead('', ...names));
  for (const group of crowdTable) {
    const growth = (row, name) => row[name] / row[names[0]];
    const [bare] = Object.values(group);
    for (const [way, row] of Object.entries(group)) {
      const cells = names.map((name, index) => {
        const besideBare = row === bare ? '' : `, ${(growth(row, name) / growth(bare, name)).toFixed(2)} of bare`;
        return index === 0 ? row[name].toFixed(2) : `${row[name].toFixed(2)} (${growth(row, name).toFixed(2)} ×${besideBare})`;
      });
      console.log(tableRow(way, ...cells));
    }
  }
  console.log(
    `\n${mass.own} processes ended by closing their connection: ${(mass.tookMs / 1000).toFixed(2)} s. ` +
      `Meanwhile ${mass.calls} calls over another connection: p50 ${mass.p50.toFixed(1)} ms, p99 ${mass.p99.toFixed(1)} ms, longest ${mass.max.toFixed(1)} ms.`,
  );
}
