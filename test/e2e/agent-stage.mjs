// Plays scenarios with a real agent program under the runner, on every kind of client, and reports the results. What must hold for every
// program is checked for every run here: its events have no gaps, its file contains the same events, and none of its processes is left
// running.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connect, connectInProcess, launchServer } from 'sluice';
import { readRun, startAgent } from 'sluice/runner';
import { eventuallyNone, kill, processesWith } from './marked-processes.mjs';

/**
 * @typedef {object} Stage
 * @property {Kind} kind
 * @property {import('sluice').Client} client
 * @property {string} [url] of the server; absent if none listens
 * @property {string} folder where the agent starts
 * @property {(options: object) => import('sluice/runner').AgentRun} start uses the stage's client, program and environment
 * @property {(url: string) => Promise<import('sluice').Client>} connect the client is closed after the scenario
 * @property {() => Promise<number>} agentPid pid of the client's only running process
 * @property {() => void} killServer sends SIGKILL
 * @property {Record<string, string>} env environment of the agent
 * @property {() => number[]} running pids of the agent and its descendants
 *
 * @typedef {'inProcess' | 'websocket' | 'stdio'} Kind
 *
 * @typedef {object} Scenario
 * @property {string} about
 * @property {readonly Kind[]} [on] the kinds of client it is for; all when absent
 * @property {(stage: Stage) => Promise<void>} play
 *
 * @typedef {object} Agent what a scenario runs; each has its own
 * @property {import('sluice/runner').AgentAdapter} adapter
 * @property {Record<string, string>} env
 * @property {readonly string[]} [args]
 * @property {object} [props] additional properties for the scenario, such as the model
 * @property {() => Promise<void>} close
 */

/** @type {readonly Kind[]} */
const allKinds = ['inProcess', 'websocket', 'stdio'];

/** Time limit for a scenario, in milliseconds: several times what the slowest one needs. */
const scenarioMs = 60_000;

/** Time limit for a run, in milliseconds: shorter, so that a scenario fails with its events and not by its own time limit. */
const runMs = 40_000;

/** How long to wait for something that was asked to end, in milliseconds. */
const endMs = 8_000;

/** How long a server may take to print its address, in milliseconds. */
const startMs = 20_000;

/** How long a client tries to reconnect to its server, in milliseconds: long for a cut connection, short for a dead server. */
const reconnectMs = 3_000;

/** How many events to show after a failure, and how much of each. */
const shown = { events: 40, eventChars: 300 };

const server = fileURLToPath(new URL('../../dist/bin/sluice.cjs', import.meta.url));

/**
 * Plays all scenarios, or those named with `--only`, on all kinds of client, or those named with `--on`. Sets the exit status.
 *
 * @param {Record<string, Scenario>} scenarios
 * @param {(folder: (name: string) => string, stage: { name: string }) => Promise<Agent>} prepare gets a function that creates folders
 */
export async function playAll(scenarios, prepare) {
  if (process.platform !== 'linux') throw new Error('leftover processes are found through /proc, which only Linux has');
  const { values } = parseArgs({ options: { only: { type: 'string' }, on: { type: 'string' } } });
  const names = choice('only', values.only, Object.keys(scenarios));
  const kinds = choice('on', values.on, allKinds);
  const theatre = new Theatre(prepare);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => theatre.interrupted.abort());
  try {
    for (const kind of kinds)
      for (const name of names)
        if (scenarios[name].on?.includes(kind) !== false) await theatre.report(kind, name, scenarios[name]);
  } finally {
    theatre.close();
  }
  process.stdout.write(`${theatre.passed} passed, ${theatre.failed} failed\n`);
  if (theatre.failed > 0 || theatre.interrupted.signal.aborted) process.exitCode = 1;
}

class Theatre {
  passed = 0;
  failed = 0;
  interrupted = new AbortController();
  #prepare;
  #root = realpathSync(mkdtempSync(path.join(tmpdir(), 'sluice-e2e-agent-')));
  #mark = randomUUID();

  constructor(prepare) {
    this.#prepare = prepare;
  }

  /** Prints one line with the result of the scenario; if it failed, followed by the reason and the events of its runs. */
  async report(kind, name, scenario) {
    if (this.interrupted.signal.aborted) return;
    const label = `${kind} ${name}: ${scenario.about}`;
    const cast = { runs: [], clients: [] };
    const startedAt = performance.now();
    try {
      await this.#perform({ kind, name, scenario, cast });
      this.passed += 1;
      process.stdout.write(`PASS  ${label} (${Math.round(performance.now() - startedAt)} ms)\n`);
    } catch (error) {
      this.failed += 1;
      const transcripts = cast.runs.map(({ events }, index) => `events of run ${index + 1}:\n${eventLines(events)}`);
      process.stdout.write(`FAIL  ${label}\n${indented([error.stack, ...transcripts].join('\n'))}\n`);
    }
  }

  close() {
    this.#killAll();
    rmSync(this.#root, { recursive: true, maxRetries: 3 });
  }

  async #perform({ kind, name, scenario, cast }) {
    const home = path.join(this.#root, kind, name);
    const folder = (part) => makeFolder(path.join(home, part));
    const agent = await this.#prepare(folder, { name });
    const signal = AbortSignal.any([this.interrupted.signal, AbortSignal.timeout(scenarioMs)]);
    let place = { end: async () => {} };
    try {
      place = await this.#openPlace(kind, { folder, cast });
      const stage = this.#stage({ kind, place, agent, folder, cast });
      await Promise.race([scenario.play(stage), rejectionOf(signal)]);
      await Promise.race([Promise.all(cast.runs.map(checkRun)), rejectionOf(signal)]);
      await eventuallyNone(stage.running, { complaint: 'processes of the agent are still running', patienceMs: endMs });
    } finally {
      const overdue = setTimeout(() => this.#killAll(), endMs); // so that closing cannot hang
      for (const client of cast.clients) await client.close().catch(() => {}); // its server may have been killed
      await place.end();
      clearTimeout(overdue);
      await agent.close();
    }
    await eventuallyNone(() => this.#marked(), { complaint: 'still running after the server has ended', patienceMs: endMs });
    rmSync(home, { recursive: true, maxRetries: 3 });
  }

  #stage({ kind, place, agent, folder, cast }) {
    const cwd = folder('work');
    // Inherit nothing from this program's environment: no user setting may matter.
    const env = { ...this.#env(folder), ...agent.env, E2E_ROLE: 'agent' };
    const [client] = cast.clients;
    const fixed = { client, adapter: agent.adapter, cwd, logDir: folder('runs'), totalTimeoutMs: runMs };
    const start = (options) => {
      const run = startAgent({ ...fixed, env, ...options, args: [...(agent.args ?? []), ...(options.args ?? [])] });
      cast.runs.push({ run, ...collect(run.events) });
      return run;
    };
    return {
      ...{ kind, client, start, env, folder: cwd, url: place.url, ...agent.props },
      connect: async (url) => {
        cast.clients.push(await connect(url, { timeouts: { reconnectMs } }));
        return cast.clients.at(-1);
      },
      agentPid: async () => {
        const living = (await client.list()).filter((status) => status.state === 'running');
        assert.equal(living.length, 1, `one process must be running, got ${JSON.stringify(living)}`);
        return living[0].pid;
      },
      killServer: () => this.#marked('E2E_ROLE=server').forEach(kill),
      running: () => this.#marked('E2E_ROLE=agent'),
    };
  }

  /** Opens a client of that kind, and its server if it needs one. */
  async #openPlace(kind, { folder, cast }) {
    const env = { ...this.#env(folder), E2E_ROLE: 'server' };
    if (kind === 'inProcess') {
      cast.clients.push(connectInProcess());
      return { end: async () => {} }; // ends with its client
    }
    if (kind === 'stdio') {
      const args = ['--', server, 'serve', '--listen', 'stdio'];
      cast.clients.push(await launchServer({ command: process.execPath, args, env, stderr: 'ignore' }));
      return { end: async () => {} }; // ends with its client
    }
    // The host without a port is allowed, so that the server can be reached through another port.
    const args = ['--', server, 'serve', '--listen', 'ws://127.0.0.1:0', '--allow-host', '127.0.0.1'];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const url = await firstLineOf(child);
    cast.clients.push(await connect(url, { timeouts: { reconnectMs } }));
    return { url, end: () => endServer(child) };
  }

  #env(folder) {
    return { PATH: process.env.PATH, HOME: folder('home'), TMPDIR: folder('tmp'), E2E_MARK: this.#mark };
  }

  #marked(...also) {
    return processesWith(`E2E_MARK=${this.#mark}`, ...also);
  }

  #killAll() {
    for (const pid of this.#marked()) kill(pid);
  }
}

/** Checks that the run has ended and that its file contains the same events, with none missing or repeated. */
async function checkRun({ run, events, collected }) {
  const outcome = await run.outcome;
  await collected;
  const numbers = events.map(({ seq }) => seq);
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
    'sequence numbers of the events',
  );
  assert.deepEqual({ type: events.at(-1).type, outcome: events.at(-1).outcome }, { type: 'ended', outcome });
  assert.equal(outcome.sessionId, run.sessionId);
  assert.deepEqual(await linesOf(run.logFile), JSON.parse(JSON.stringify(events)), 'the events in the file of the run');
}

/** The events in the file of a run; its first line is the header. */
export async function linesOf(logFile) {
  const [header, ...events] = await arrayOf(readRun(logFile));
  assert.equal(header?.type, 'run', 'the first line of the file');
  return events;
}

async function arrayOf(iterable) {
  const { events, collected } = collect(iterable);
  await collected;
  return events;
}

function collect(iterable) {
  const events = [];
  const reading = async () => {
    for await (const event of iterable) events.push(event);
  };
  return { events, collected: reading() };
}

/**
 * One line for each event except `status` and `launching`; the pieces of a text are joined, so that it does not matter how it was split.
 *
 * @param {AsyncIterable<import('sluice/runner').SeenEvent>} events of a run that has ended
 */
export async function transcriptOf(events) {
  const lines = [];
  let lastPiece;
  for (const event of await arrayOf(events)) {
    if (event.type === 'status' || event.type === 'launching') continue;
    const piece = event.type === 'text' || event.type === 'thinking' ? `${event.turn} ${event.type}` : undefined;
    if (piece !== undefined && piece === lastPiece) lines.push(lines.pop() + event.text);
    else lines.push(lineOf(event));
    lastPiece = piece;
  }
  return lines;
}

function lineOf(event) {
  const start = `${event.turn} ${event.type}`;
  switch (event.type) {
    case 'turnStarted':
      return `${start} ${event.prompt}`;
    case 'text':
    case 'thinking':
      return `${start} ${event.text}`;
    case 'toolCall':
      return `${start} ${event.name} ${JSON.stringify(event.input)}`;
    case 'toolResult':
      return `${start} ${event.isError ? 'error' : 'ok'} ${event.output.trimEnd()}`;
    case 'permission':
      return `${start} ${event.toolName} ${JSON.stringify(event.input)}`;
    case 'rateLimit':
      return `${start} ${event.state} ${event.limit}`;
    case 'turnEnded':
      return `${start} ${event.result.isError ? 'error' : 'ok'} ${event.result.reason}`;
    case 'ended':
      return `${start} ${event.outcome.kind}`;
    case 'raw':
      return `${start} ${event.stream} ${JSON.stringify(event.line)}`;
    default:
      return start;
  }
}

/** How a turn ended, without its usage. */
export async function answerTo(turn) {
  const { isError, reason, text } = await turn.result;
  return { isError, reason, text };
}

/** The first event that matches; fails when the run ends without one. */
export async function seen(events, holds) {
  for await (const event of events) if (holds(event)) return event;
  return assert.fail('the run ended before the event that the scenario waits for');
}

/** Polls until the condition holds, for as long as a run may take. */
export async function eventually(holds) {
  const deadline = performance.now() + runMs;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `not true within ${runMs} ms: ${holds}`);
    await sleep(20);
  }
}

async function firstLineOf(child) {
  const lines = createInterface(child.stdout);
  const [line = ''] = await Promise.race([once(lines, 'line', { signal: AbortSignal.timeout(startMs) }), once(lines, 'close')]);
  assert.match(line, /^ws:/, `the server's first line must be its URL, got "${line}"`);
  return line;
}

/** Checks that the exit code is 0, unless it was killed before. */
async function endServer(child) {
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  if (child.signalCode !== 'SIGKILL') assert.equal(child.exitCode, 0, 'the exit code of the server');
}

async function rejectionOf(signal) {
  if (!signal.aborted) await once(signal, 'abort');
  throw new Error(`it took longer than ${scenarioMs} ms, or was interrupted`);
}

function makeFolder(folder) {
  mkdirSync(folder, { recursive: true });
  return folder;
}

function eventLines(events) {
  return events
    .slice(-shown.events)
    .map((event) => JSON.stringify(event).slice(0, shown.eventChars))
    .join('\n');
}

function indented(text) {
  return text.trim().replaceAll(/^/gm, '      | ');
}

/** The names in a comma-separated option, or all names. */
function choice(option, text, all) {
  const wanted = text?.split(',') ?? all;
  for (const name of wanted) if (!all.includes(name)) throw new Error(`--${option} accepts ${all.join(', ')}; got "${name}"`);
  return wanted;
}
