// Many clients do everything there is to do with one server, at random and for a long time, while their connections are cut again and again. Fails
// on a wrong byte, a wrong ending, a call that is not answered, a line in the server's log, and on anything that grows or stays behind.
//
//   npm run soak -- [--seconds 1800] [--clients 50] [--keep-seconds 120] [--seed NUMBER]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect } from '../dist/index.js';
import { tableHead, wholeNumber } from './measure.mjs';
import { actions } from './soak/actions.mjs';
import { openProxy } from './soak/proxy.mjs';
import { seededRandom } from './soak/random.mjs';
import { judge, look, row, watch } from './soak/watch.mjs';

/** Longest an action may take. Far beyond what any takes on a busy machine: what takes longer is not answered at all. */
const actionMs = 120_000;

/** For machines that are busy with other things as well. */
const patience = { connectMs: 60_000, initializeMs: 60_000, reconnectMs: 120_000 };

/** After the last client, until everything that is kept for a moment is gone. */
const settleMs = 180_000;

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1800' },
    clients: { type: 'string', default: '50' },
    'keep-seconds': { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const seconds = wholeNumber('seconds', options.seconds);
const clients = wholeNumber('clients', options.clients);
const seed = wholeNumber('seed', options.seed);

/** How soon what ended is forgotten: late enough for clients that are cut off again and again, early enough to be seen to happen. */
const keepMs = wholeNumber('keep-seconds', options['keep-seconds']) * 1_000;
const serverFlags = ['keep-closed', 'keep-released', 'detach-grace'].flatMap((name) => [`--${name}-ms`, String(keepMs)]);

const counts = new Map();
const problems = [];
let cuts = 0;
let until = Infinity;

console.log(`Node ${process.version}, ${seconds} s, ${clients} clients, --seed ${seed}\n`);
const server = await startServer();
await visit(seededRandom(seed), actions); // what is made once, the watchdog say, is there from now on
const before = await look(server);
const watching = watch(server);
until = performance.now() + seconds * 1_000;
await Promise.all(Array.from({ length: clients }, (_, index) => live(seededRandom(seed + index))));
const looks = await watching.stop();
problems.push(...judge(looks), ...(await leftBehind(before)), ...(await endServer()));
report();

async function startServer() {
  const program = fileURLToPath(new URL('../dist/bin/sluice.cjs', import.meta.url));
  const args = ['--', program, 'serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'warn', ...serverFlags];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  // Whatever becomes of us.
  process.once('exit', () => child.kill('SIGKILL'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  let log = '';
  child.stderr.on('data', (piece) => (log += piece));
  const [addresses] = await once(child.stdout, 'data');
  return { child, pid: child.pid, url: String(addresses).trim(), log: () => log };
}

/** One client after another, each for a while. */
async function live(random) {
  const often = actions.flatMap((each) => Array.from({ length: each.often }, () => each));
  while (performance.now() < until && problems.length === 0) {
    await visit(
      random,
      Array.from({ length: random.whole(1, 30) }, () => random.one(often)),
    );
  }
}

/** A client with a proxy of its own, which cuts it off now and then. */
async function visit(random, chosen) {
  const proxy = await openProxy(server.url);
  try {
    const client = await patiently('connect', () => connect(proxy.url, { timeouts: patience }));
    await act(client, { proxy, random, chosen });
    await proxy.close();
    await client.close();
  } catch (error) {
    problems.push(error.stack ?? String(error));
    await proxy.close();
  }
}

async function act(client, { proxy, random, chosen }) {
  const state = { cuts: 0 };
  const context = { client, random, others: outOfReach, toleratesCut: (task) => toleratesCut(task, state) };
  const cutting = cutNowAndThen(proxy, { random: seededRandom(random.whole(0, 2 ** 31)), state });
  try {
    for (const { act: action } of chosen) {
      if (performance.now() >= until || problems.length > 0) break;
      counts.set(action.name, (counts.get(action.name) ?? 0) + 1);
      await patiently(action.name, () => action(context));
      await sleep(random.whole(0, 100));
    }
  } finally {
    cutting.stop();
  }
  // Half of them say goodbye. The server finds out about the others by itself, as long as there is time for it.
  if (random.whole(0, 1) === 0 || performance.now() + keepMs > until) await patiently('close', () => client.close());
}

function cutNowAndThen(proxy, { random, state }) {
  let timer;
  const arm = () => {
    timer = setTimeout(
      () => {
        state.cuts += 1;
        cuts += 1;
        proxy.cut();
        arm();
      },
      random.whole(300, 5_000),
    );
  };
  if (random.whole(0, 1) === 0) arm();
  return { stop: () => clearTimeout(timer) };
}

async function patiently(name, task) {
  let timer;
  const impatience = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} was not answered within ${actionMs} ms`)), actionMs);
  });
  try {
    return await Promise.race([task(), impatience]);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** True when it was done, false when the connection was cut meanwhile and it may not have been. */
async function toleratesCut(task, state) {
  try {
    await task();
    return true;
  } catch (error) {
    if (error.name !== 'ConnectionClosedError' || state.cuts === 0) throw error;
    return false;
  }
}

/** With somebody else's process, which may be gone by now. */
async function outOfReach(task) {
  try {
    await task();
  } catch (error) {
    if (!['processNotFound', 'sessionNotFound'].includes(error.kind)) throw error;
  }
}

/** What is still there when nobody is any more, and nothing is kept for them, in words. */
async function leftBehind(early) {
  const deadline = performance.now() + settleMs;
  for (;;) {
    const late = await look(server);
    const left = ['descriptors', 'connections', 'children'].filter((name) => late[name] > early[name]);
    if (left.length === 0 || performance.now() > deadline) {
      console.log(`\n${tableHead('moment', 'RSS MB', 'descriptors', 'sessions', 'processes known', 'children')}`);
      console.log(`${row('before the first client', early)}\n${row('after the last client', late)}`);
      return left.map((name) => `${late[name]} ${name} are left, ${early[name]} before`);
    }
    await sleep(500);
  }
}

async function endServer() {
  const exited = once(server.child, 'exit');
  server.child.kill('SIGTERM');
  const [code] = await exited;
  return [
    ...(code === 0 ? [] : [`the server ended with ${code}`]),
    ...(server.log() === '' ? [] : [`the server said: ${server.log()}`]),
  ];
}

function report() {
  const done = [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
  console.log(`\n${[...counts.values()].reduce((sum, count) => sum + count, 0)} actions (${done}), ${cuts} cuts`);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) {
    console.error(
      `\nFailed. To make the same choices again: npm run soak -- --seconds ${seconds} --clients ${clients} --seed ${seed}`,
    );
    process.exitCode = 1;
  } else console.log('\nNothing is wrong, nothing grows, nothing is left behind.');
}
