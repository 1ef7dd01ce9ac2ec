// The actions of a soak client, one at a time, each checked to the byte. An action throws if anything is wrong.

import assert from 'node:assert/strict';
import { env, ios } from '../../measure.mjs';

/** @import { Random } from '../../../dist-test/support/random.js' */
/** @import { Client, Ending, ProcessHandle, StartOptions } from '../../../dist/index.js' */

/**
 * @typedef {object} Context what an action can use
 * @property {Client} client
 * @property {Random} random
 * @property {(task: () => Promise<unknown>) => Promise<void>} others runs a task on another client's process, which may be gone by now
 * @property {(task: () => Promise<unknown>) => Promise<boolean>} toleratesCut false: a cut, and the task may not be done
 */
/** @typedef {{ weight: number, act: (context: Context) => Promise<void> }} Action */
/** @typedef {ProcessHandle} Handle */
/** @typedef {NonNullable<StartOptions['io']>} Io */

/** @type {Io} */
const openPipe = { kind: 'pipe', stdin: 'open' };

/**
 * @param {string} script
 * @param {Io} io
 */
const shell = (script, io) => ({ argv: ['sh', '-c', script], env, cwd: '/', io });

/**
 * Each is chosen in proportion to its weight.
 * @type {Action[]}
 */
export const actions = [
  { weight: 6, act: echoOnPipe },
  { weight: 4, act: echoOnTerminal },
  { weight: 4, act: flood },
  { weight: 4, act: runOnce },
  { weight: 3, act: resizeTerminal },
  { weight: 3, act: sendSignal },
  { weight: 3, act: endTree },
  { weight: 3, act: readPages },
  { weight: 2, act: watchOther },
  { weight: 2, act: releaseAndFind },
  { weight: 2, act: refuseWrong },
  { weight: 1, act: timeOut },
];

/** @param {Context} context */
async function echoOnPipe({ client, random }) {
  const child = await client.start(shell('exec cat', openPipe));
  const pieces = Array.from({ length: random.whole(1, 8) }, () => random.bytes(random.size(100_000)));
  const writing = (async () => {
    for (const piece of pieces) assert.equal(await child.write(piece), 'accepted');
    await child.closeStdin();
  })();
  const seen = await everything(child);
  await writing;
  assert.ok(seen.equals(Buffer.concat(pieces)), 'an echo on pipes differs');
  await endsWith(child, { kind: 'code', code: 0, reason: 'exited' });
}

/** @param {Context} context */
async function echoOnTerminal({ client, random }) {
  const child = await client.start(shell('stty raw -echo; echo ready; exec cat', ios.pty));
  assert.equal((await child.collectUntil({ deadlineMs: 60_000, text: 'ready' })).reason, 'text');
  const sent = `<${random.bytes(random.size(20_000)).toString('hex')}>`;
  const writing = child.write(sent);
  const { text } = await child.collectUntil({ deadlineMs: 60_000, text: '>' });
  await writing;
  assert.ok(text.trimStart() === sent, 'an echo on a terminal differs');
  await child.terminate({ forceAfterMs: 1_000 });
  await child.closed;
}

/** @param {Context} context */
async function flood({ client, random }) {
  const count = random.size(200_000);
  const io = random.pick([ios.pipe, ios.pty]);
  const child = await client.start(shell(`seq 1 ${count}; exit 5`, io));
  const text = (await everything(child)).toString();
  const end = io === ios.pty ? '\r\n' : '\n';
  const expected = Array.from({ length: count }, (_, index) => `${index + 1}${end}`).join('');
  assert.ok(text === expected, `a flood differs: ${text.length} of ${expected.length} characters`);
  await endsWith(child, { kind: 'code', code: 5, reason: 'exited' });
}

/**
 * Commands end with their connection, so a cut is not a failure here.
 * @param {Context} context
 */
async function runOnce({ client, random, toleratesCut }) {
  const code = random.whole(0, 255);
  await toleratesCut(async () => {
    const { exitCode, stdout } = await client.exec(['sh', '-c', `echo ${code}; exit ${code}`], { env, cwd: '/' });
    assert.deepEqual([exitCode, stdout], [code, `${code}\n`]);
  });
}

/** @param {Context} context */
async function resizeTerminal({ client, random }) {
  const child = await client.start(shell('while read -r _; do stty size; done', ios.pty));
  const [rows, cols] = [random.whole(2, 200), random.whole(2, 200)];
  await child.resize({ rows, cols });
  await child.write('\n');
  const { reason } = await child.collectUntil({ deadlineMs: 60_000, text: `${rows} ${cols}` });
  assert.equal(reason, 'text', 'a terminal does not have the size it was given');
  await child.closeStdin();
  await everything(child);
  await child.closed;
}

/**
 * A signal is never resent, so the call may fail because of a cut.
 * @param {Context} context
 */
async function sendSignal({ client, random, toleratesCut }) {
  const signal = random.pick(['SIGTERM', 'SIGKILL', 'SIGUSR1', 'SIGINT']);
  const child = await client.start(shell('echo ready; exec sleep 600', random.pick([ios.pipe, ios.pty])));
  await child.collectUntil({ deadlineMs: 60_000, text: 'ready' });
  const wasSent = await toleratesCut(async () => assert.equal(await child.signal(signal), true));
  if (!wasSent) await child.terminate({ forceAfterMs: 0 });
  const ending = await child.closed;
  if (wasSent) assert.deepEqual([ending.kind, ending.kind === 'signal' && ending.signal], ['signal', signal]);
}

/** @param {Context} context */
async function endTree({ client, random }) {
  const deaf = `sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done'`;
  const script = `trap "" TERM; ${deaf} & setsid ${deaf} & (setsid ${deaf} &); echo ready; while :; do sleep 1; done`;
  const child = await client.start(shell(script, random.pick([ios.pipe, ios.pty])));
  await child.collectUntil({ deadlineMs: 60_000, text: 'ready' });
  await child.terminate({ forceAfterMs: random.pick([0, 0, 50]) });
  await endsWith(child, { kind: 'signal', signal: 'SIGKILL', reason: 'terminated' });
}

/** @param {Context} context */
async function readPages({ client, random }) {
  const count = random.whole(1, 3_000);
  const child = await client.start(shell(`seq 1 ${count}`, ios.pipe));
  await everything(child);
  let text = '';
  let afterSeq = 0;
  for (let isClosed = false; !isClosed;) {
    const page = await child.read({ afterSeq, maxBytes: 1_000, waitMs: 1_000 });
    assert.equal(page.droppedBytes, 0);
    for (const { chunk } of page.chunks) text += Buffer.from(chunk).toString();
    isClosed = page.closed && page.chunks.length === 0;
    afterSeq = page.nextSeq - 1;
  }
  assert.equal(text, Array.from({ length: count }, (_, index) => `${index + 1}\n`).join(''), 'pages differ');
}

/**
 * Watches another client's process, which may end or be forgotten at any moment.
 * @param {Context} context
 */
async function watchOther({ client, random, others }) {
  const running = (await client.list({ scope: 'all' })).filter(({ state }) => state === 'running');
  if (running.length === 0) return;
  const { processId, sessionId } = random.pick(running);
  await others(async () => {
    const child = await client.attach(processId, { sessionId });
    await child.collectUntil({ deadlineMs: random.whole(1, 50) });
    await child[Symbol.asyncDispose]();
  });
}

/** @param {Context} context */
async function releaseAndFind({ client, random }) {
  const id = `released-${random.whole(0, 2 ** 48)}`;
  const child = await client.start({ ...shell('echo released; exec sleep 600', ios.pipe), id });
  const { sessionId } = await child.release();
  const found = await client.attach(id, { sessionId, role: 'drive' });
  assert.equal((await found.collectUntil({ deadlineMs: 60_000, text: 'released' })).reason, 'text');
  await found.terminate({ forceAfterMs: 0 });
  await endsWith(found, { kind: 'signal', signal: 'SIGKILL', reason: 'terminated' });
  await found[Symbol.asyncDispose]();
}

/** @param {Context} context */
async function refuseWrong({ client, random }) {
  const wrong = random.pick([
    { argv: ['no-such-program'], env },
    { argv: ['true'], env, cwd: '/no/such/folder' },
  ]);
  await assert.rejects(client.start(wrong), { kind: 'spawnFailed' });
}

/** @param {Context} context */
async function timeOut({ client, random }) {
  const limit = random.pick([{ timeoutMs: 100 }, { idleTimeoutMs: 100 }]);
  const child = await client.start({ ...shell('exec sleep 600', ios.pipe), ...limit });
  await endsWith(child, { kind: 'signal', signal: 'SIGTERM', reason: 'timeoutMs' in limit ? 'timedOut' : 'idleTimedOut' });
}

/** @param {Handle} child */
async function everything(child) {
  /** @type {Uint8Array[]} */
  const chunks = [];
  for await (const { bytes, droppedBytes } of child.output) {
    assert.equal(droppedBytes, 0, 'output is missing');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/**
 * @param {Handle} child
 * @param {Partial<Ending>} expected
 */
async function endsWith(child, expected) {
  const ending = await child.closed;
  assert.deepEqual({ ...ending, ...expected }, ending);
}
