// Many clients perform every operation on one server, at random and for a long time, while their connections are cut repeatedly. Fails on a
// wrong byte, a wrong ending, an unanswered call, a line in the server's log, and on anything that grows or is left behind.
//
//   npm run soak -- [--seconds 1800] [--clients 50] [--keep-seconds 120] [--seed NUMBER]

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ConnectionClosedError } from '../../dist/client/index.js';
import { connect, isExecError } from '../../dist/index.js';
import { CuttingProxy } from '../../dist-test/support/cutting-proxy.js';
import { Random } from '../../dist-test/support/random.js';
import { SluiceServer } from '../../dist-test/support/sluice-server.js';
import { tableHead, wholeNumber } from '../measure.mjs';
import { actions } from './soak/actions.mjs';
import { judge, look, row, watch } from './soak/watch.mjs';

/** @import { Client } from '../../dist/index.js' */
/** @import { Action } from './soak/actions.mjs' */
/** @import { Look } from './soak/watch.mjs' */

/** Timeout of an action. Far longer than any takes on a busy machine: a call that takes longer will never be answered. */
const actionMs = 120_000;

/** Long enough for machines that also run other work. */
const patience = { connectMs: 60_000, initializeMs: 60_000, reconnectMs: 120_000 };

/** After the last client, how long to wait until everything that is kept temporarily is gone. */
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

/** How soon ended processes are forgotten: late enough for clients that are repeatedly cut off, early enough to happen during the run. */
const keepMs = wholeNumber('keep-seconds', options['keep-seconds']) * 1_000;
const serverFlags = ['keep-closed', 'keep-released', 'detach-grace'].flatMap((name) => [`--${name}-ms`, String(keepMs)]);

/** @typedef {{ cuts: number }} CutCount of one client */

/** @type {Map<string, number>} */
const counts = new Map();
/** @type {string[]} */
const problems = [];
let cuts = 0;
let until = Infinity;

console.log(`Node ${process.version}, ${seconds} s, ${clients} clients, --seed ${seed}\n`);
const server = await startServer();
const watched = { pid: server.child.pid ?? 0, url: server.url };
await visit(new Random(seed), actions); // creates what is created once, such as the watchdog
const before = await look(watched);
const watching = watch(watched);
until = performance.now() + seconds * 1_000;
await Promise.all(Array.from({ length: clients }, (_, index) => live(new Random(seed + index))));
const looks = await watching.stop();
problems.push(...judge(looks), ...(await leftBehind(before)), ...(await endServer()));
report();

async function startServer() {
  const started = await SluiceServer.start('websocket', ['--log-level', 'warn', ...serverFlags]);
  // Ends with this program, however it ends.
  process.once('exit', () => started.child.kill('SIGKILL'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  return started;
}

/**
 * Runs one client after another, each for a while.
 * @param {Random} random
 */
async function live(random) {
  const weighted = actions.flatMap((each) => Array.from({ length: each.weight }, () => each));
  while (performance.now() < until && problems.length === 0) {
    await visit(
      random,
      Array.from({ length: random.whole(1, 30) }, () => random.pick(weighted)),
    );
  }
}

/**
 * A client with its own proxy, which cuts its connection now and then.
 * @param {Random} random
 * @param {readonly Action[]} chosen
 */
async function visit(random, chosen) {
  const proxy = await CuttingProxy.open(server.url);
  try {
    const client = await patiently('connect', () => connect(proxy.url, { timeouts: patience }));
    await act(client, { proxy, random, chosen });
    await proxy[Symbol.asyncDispose]();
    await client.close();
  } catch (error) {
    problems.push(error instanceof Error && error.stack !== undefined ? error.stack : String(error));
    await proxy[Symbol.asyncDispose]();
  }
}

/**
 * @param {Client} client
 * @param {{ proxy: CuttingProxy, random: Random, chosen: readonly Action[] }} visit
 */
async function act(client, { proxy, random, chosen }) {
  /** @type {CutCount} */
  const state = { cuts: 0 };
  const context = {
    client,
    random,
    others: outOfReach,
    toleratesCut: (/** @type {() => Promise<unknown>} */ task) => toleratesCut(task, state),
  };
  const cutting = cutNowAndThen(proxy, { random: new Random(random.whole(0, 2 ** 31)), state });
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
  // Half of the clients close properly. The server has to detect the loss of the others, as long as enough time is left for it.
  if (random.whole(0, 1) === 0 || performance.now() + keepMs > until) await patiently('close', () => client.close());
}

/**
 * @param {CuttingProxy} proxy
 * @param {{ random: Random, state: CutCount }} chance
 */
function cutNowAndThen(proxy, { random, state }) {
  /** @type {NodeJS.Timeout | undefined} */
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

/**
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} task
 */
async function patiently(name, task) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const impatience = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} was not answered within ${actionMs} ms`)), actionMs);
  });
  try {
    return await Promise.race([task(), impatience]);
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * True if the task was done, false if the connection was cut during it and it may not have been.
 * @param {() => Promise<unknown>} task
 * @param {CutCount} state
 */
async function toleratesCut(task, state) {
  try {
    await task();
    return true;
  } catch (error) {
    if (!(error instanceof ConnectionClosedError) || state.cuts === 0) throw error;
    return false;
  }
}

/**
 * Runs a task on another client's process, which may be gone by now.
 * @param {() => Promise<unknown>} task
 */
async function outOfReach(task) {
  try {
    await task();
  } catch (error) {
    if (!isExecError(error, 'processNotFound') && !isExecError(error, 'sessionNotFound')) throw error;
  }
}

/**
 * Describes what is left after the last client is gone and nothing is kept for it.
 * @param {Look} early
 */
async function leftBehind(early) {
  const deadline = performance.now() + settleMs;
  for (;;) {
    const late = await look(watched);
    const left = /** @type {const} */ (['descriptors', 'connections', 'children']).filter((name) => late[name] > early[name]);
    if (left.length === 0 || performance.now() > deadline) {
      console.log(`\n${tableHead('moment', 'RSS MB', 'descriptors', 'sessions', 'processes known', 'children')}`);
      console.log(`${row('before the first client', early)}\n${row('after the last client', late)}`);
      return left.map((name) => `${late[name]} ${name} are left, ${early[name]} existed before`);
    }
    await sleep(500);
  }
}

async function endServer() {
  const code = await server.stop();
  return [
    ...(code === 0 ? [] : [`the server ended with ${code}`]),
    ...(server.log.length === 0 ? [] : [`the server logged: ${server.log.join('\n')}`]),
  ];
}

function report() {
  const done = [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
  console.log(`\n${[...counts.values()].reduce((sum, count) => sum + count, 0)} actions (${done}), ${cuts} cuts`);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) {
    console.error(
      `\nFailed. To repeat the same choices: npm run soak -- --seconds ${seconds} --clients ${clients} --seed ${seed}`,
    );
    process.exitCode = 1;
  } else console.log('\nNothing failed, grew or was left behind.');
}
