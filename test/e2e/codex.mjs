// Runs the real codex as a client of `sluice serve`, with a scripted model in place of a real one, and reports the results.
//
//   npm run e2e:codex -- [--only pipe,tty] [--transport ws|token|stdio] [--server "codex exec-server"]
//
// --server names another server to run against; it must take `--listen`, and `--token-file` for the transport "token". Messages about a
// process must arrive in the order of their sequence numbers, which Sluice guarantees and codex's own server occasionally violates.

import { codexConfig } from './codex-config.mjs';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { scenarios } from './codex-scenarios.mjs';
import { eventuallyNone, kill, processesWith } from './marked-processes.mjs';
import { startMockModel } from './mock-model.mjs';
import { scratchInstall } from './scratch-install.mjs';
import { openWireProxy } from './wire-proxy.mjs';

/** Time limit for a scenario, in milliseconds: several times what the slowest one needs. */
const scenarioMs = 90_000;

/**
 * How long to wait for something that was asked to end, in milliseconds. Codex gives a server on stdio 2 s, and Sluice gives its processes
 * as long.
 */
const endMs = 8_000;

/** How long a server may take to print its address, in milliseconds. */
const startMs = 20_000;

/** How much of the logs and messages to show after a failure. */
const shown = { logChars: 3_000, messages: 40, messageChars: 240 };

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, transport: { type: 'string' }, server: { type: 'string' } },
});
const names = choice('only', options.only, Object.keys(scenarios));
const transports = choice('transport', options.transport, ['ws', 'token', 'stdio']);
/** A model with a context window that no output fills. */
const window = ['model = "scripted"', 'model_context_window = 10000000', 'tool_output_token_limit = 1000000'];

const sluice = [process.execPath, '--', fileURLToPath(new URL('../../dist/bin/sluice.cjs', import.meta.url)), 'serve'];
const serverCommand = options.server?.trim().split(/\s+/) ?? sluice;

if (process.platform !== 'linux') throw new Error('leftover processes are found through /proc, which only Linux has');
const codex = scratchInstall({ name: '@openai/codex', version: '0.166.0', program: 'codex' });
const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'sluice-e2e-codex-')));
const mark = randomUUID();
// Inherit nothing else from this environment: no user setting may matter. Codex is in PATH for --server.
const env = { PATH: `${path.dirname(codex)}:${process.env.PATH}`, HOME: folder('home'), TMPDIR: folder('tmp'), E2E_MARK: mark };
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => interrupted.abort());
const count = { passed: 0, failed: 0 };

try {
  for (const transport of transports) await runTransport(transport);
} finally {
  for (const pid of marked()) kill(pid);
  rmSync(root, { recursive: true, maxRetries: 3 });
}
process.stdout.write(`${count.passed} passed, ${count.failed} failed\n`);
if (count.failed > 0 || interrupted.signal.aborted) process.exitCode = 1;

async function runTransport(transport) {
  const token = transport === 'token' ? randomUUID() : undefined;
  const server = transport === 'stdio' ? undefined : startServer(token);
  for (const name of names) {
    const { about, on } = scenarios[name];
    if (interrupted.signal.aborted || on?.includes(transport) === false) continue;
    await report(`${transport} ${name}`, about, async (evidence) => {
      evidence.server = () => server?.log.text;
      await runScenario(scenarios[name], { transport, name, token, url: await server?.url, evidence });
    });
  }
  if (server === undefined) return;
  await report(`${transport} end`, 'the server stops when it is asked to, and leaves nothing behind', async (evidence) => {
    evidence.server = () => server.log.text;
    await endServer(server.child);
  });
}

async function runScenario(scenario, { transport, name, token, url, evidence }) {
  const home = folder(transport, name, 'codex-home');
  const work = folder(transport, name, 'work, größer %41'); // a path that must be escaped in a URI
  const wire = url === undefined ? undefined : await openWireProxy(url);
  evidence.exchange = () => exchangeOf(wire?.messages ?? []);
  const running = () => marked('CODEX_CI=1');
  const model = await startMockModel(async (tools) => scenario.play({ tools, wire, mark, running, folder: work }));
  writeFileSync(path.join(home, 'config.toml'), codexConfig(model.baseUrl, window));
  writeFileSync(path.join(home, 'environments.toml'), environmentConfig(wire?.url, scenario.token ?? token));
  const { child, log } = launch([codex, 'exec', '--skip-git-repo-check', 'Go.'], {
    cwd: work,
    env: { ...env, CODEX_HOME: home },
  });
  evidence.codex = () => log.text;
  const end = await endOf(child, AbortSignal.any([interrupted.signal, AbortSignal.timeout(scenarioMs)]));
  wire?.close();
  await model.close();
  assert.equal(end, 0, `codex ended with ${end}`);
  if (wire !== undefined) scenario.inspect(wire.messages);
  const find = wire === undefined ? marked : running; // on stdio the server must be gone, too
  await eventuallyNone(find, { complaint: 'processes still running after codex has ended', patienceMs: endMs });
}

/** Where codex runs commands: at this address, or in a server that it starts itself. JSON strings and arrays are valid TOML. */
function environmentConfig(url, token) {
  const [program, ...args] = serverCommand;
  const place =
    url === undefined
      ? { program, args: [...args, '--listen', 'stdio'], cwd: process.cwd() }
      : { url, ...(token !== undefined && { auth_bearer_token: token }) };
  const settings = Object.entries({ id: 'under-test', ...place }).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return ['default = "under-test"', 'include_local = false', '[[environments]]', ...settings].join('\n');
}

function startServer(token) {
  const tokenFile = path.join(root, 'secret');
  if (token !== undefined) writeFileSync(tokenFile, token, { mode: 0o600 });
  const access = token === undefined ? [] : ['--token-file', tokenFile];
  const { child, log } = launch([...serverCommand, '--listen', 'ws://127.0.0.1:0', ...access], { env });
  const url = firstLineOf(child);
  url.catch(() => {}); // each scenario reports it
  return { child, log, url };
}

async function firstLineOf(child) {
  const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(startMs)]);
  const lines = createInterface(child.stdout);
  const [line = ''] = await Promise.race([once(lines, 'line', { signal }), once(lines, 'close')]);
  assert.match(line, /^ws:/, `the server's first line must be its URL, got "${line}"`);
  return line;
}

async function endServer(child) {
  child.kill('SIGTERM');
  assert.equal(await endOf(child, AbortSignal.timeout(endMs)), 0, 'the exit code of the server');
  await eventuallyNone(marked, { complaint: 'processes still running after the server has ended', patienceMs: endMs });
  assert.deepEqual(readdirSync(env.TMPDIR), [], 'files left in the temporary folder');
}

/** Processes that belong to this run; with `CODEX_CI=1`, which codex sets for its commands, only those commands and their descendants. */
function marked(...also) {
  return processesWith(`E2E_MARK=${mark}`, ...also);
}

/** Starts it in its own process group, so that it can be killed with everything it has started. */
function launch([program, ...args], { cwd, env: environment }) {
  const child = spawn(program, args, { cwd, env: environment, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = { text: '' };
  const keep = (bytes) => (log.text = (log.text + bytes).slice(-shown.logChars));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  child.once('error', (error) => keep(error.message));
  return { child, log };
}

/** @returns {Promise<number | string>} exit code or signal. When `signal` aborts, the child is killed, with its group. */
async function endOf(child, signal) {
  if (child.pid === undefined) return 'no start';
  const end = () => kill(-child.pid);
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  signal.removeEventListener('abort', end);
  return child.exitCode ?? child.signalCode;
}

/** Prints one line with the result of `check`; if it failed, followed by the collected evidence. */
async function report(label, about, check) {
  const evidence = {};
  const startedAt = performance.now();
  try {
    await check(evidence);
    count.passed += 1;
    process.stdout.write(`ok    ${label}: ${about} (${Math.round(performance.now() - startedAt)} ms)\n`);
  } catch (error) {
    count.failed += 1;
    process.stdout.write(`FAIL  ${label}: ${about}\n${indented(error.stack)}\n`);
    for (const [what, text] of Object.entries(evidence))
      if (text()) process.stdout.write(`      ${what}:\n${indented(text())}\n`);
  }
}

function indented(text) {
  return text.trim().replaceAll(/^/gm, '      | ');
}

/** The last messages, without those in which codex looks for files. */
function exchangeOf(messages) {
  const lines = messages.map(
    ({ connection, from, body }) => `${connection} ${from === 'codex' ? '→' : '←'} ${JSON.stringify(body)}`,
  );
  const kept = lines.filter((line) => !line.includes('"method":"fs/')).slice(-shown.messages);
  return kept.map((line) => line.slice(0, shown.messageChars)).join('\n');
}

function folder(...parts) {
  const made = path.join(root, ...parts);
  mkdirSync(made, { recursive: true });
  return made;
}

/** The names in a comma-separated option, or all names. */
function choice(option, text, all) {
  const wanted = text?.split(',') ?? all;
  for (const name of wanted) if (!all.includes(name)) throw new Error(`--${option} accepts ${all.join(', ')}; got "${name}"`);
  return wanted;
}
