// Runs our client with the real `codex exec-server`, which is not Sluice, and reports the results.
//
//   npm run e2e:codex-server -- [--transport ws|token|stdio]

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { connect, launchServer } from '../../dist/index.js';
import { eventuallyNone, kill, processesWith } from './marked-processes.mjs';
import { scratchInstall } from './scratch-install.mjs';

/** How long to wait for something that should happen, in milliseconds. */
const patienceMs = 20_000;

const { values: options } = parseArgs({ options: { transport: { type: 'string' } } });
const all = ['ws', 'token', 'stdio'];
const transports = options.transport?.split(',') ?? all;
for (const name of transports) if (!all.includes(name)) throw new Error(`--transport accepts ${all.join(', ')}; got "${name}"`);

const codex = scratchInstall({ name: '@openai/codex', version: '0.166.0', program: 'codex' });
const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'sluice-e2e-codex-server-')));
const mark = randomUUID();
const home = path.join(root, 'home');
const folder = path.join(root, 'work, größer %41'); // a path that must be escaped in a URI
for (const each of [home, folder]) mkdirSync(each);
const serverEnv = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, E2E_MARK: mark };
const place = { cwd: folder, env: { PATH: '/usr/bin:/bin', E2E_MARK: mark, E2E_CHILD: '1' } };
const count = { passed: 0, failed: 0 };

const scenarios = {
  'output and exit code of a command': async (client) => {
    const { ending, stdout, stderr } = await client.run(['sh', '-c', 'pwd; echo err >&2; exit 3'], place);
    assert.deepEqual([stdout.text, stderr.text], [`${folder}\n`, 'err\n']);
    assert.deepEqual([ending.kind, ending.code, ending.reason, ending.outputComplete], ['code', 3, 'exited', true]);
  },
  'every byte of a large output': async (client) => {
    const { stdout } = await client.run(['head', '-c', '5000000', '/dev/zero'], place);
    assert.equal(stdout.bytes.length, 5_000_000);
  },
  'variables by a policy': async (client) => {
    const { stdout } = await client.run(['env'], {
      envPolicy: { inherit: 'none', set: { ONLY: 'this' } },
      env: { PATH: '/usr/bin:/bin' },
    });
    assert.deepEqual(stdout.text.trim().split('\n').toSorted(), ['ONLY=this', 'PATH=/usr/bin:/bin']);
  },
  'a terminal, its echo and its end of file': async (client) => {
    const child = await client.start({ ...place, argv: ['cat'], io: { kind: 'pty', rows: 24, cols: 80 } });
    await child.write('hello\n');
    assert.equal((await child.collectUntil({ text: 'hello\r\nhello', deadlineMs: patienceMs })).reason, 'text');
    await child.closeStdin();
    assert.equal((await child.exit).code, 0);
  },
  'a pipe for stdin, and SIGINT': async (client) => {
    const child = await client.start({ ...place, argv: ['cat'], io: { kind: 'pipe', stdin: 'open' } });
    await child.write('line\n');
    assert.equal((await child.collectUntil({ text: 'line', deadlineMs: patienceMs })).reason, 'text');
    assert.equal(await child.signal('SIGINT'), true);
    assert.equal((await child.closed).code, 130);
  },
  'limits that the client enforces': async (client) => {
    assert.equal((await client.run(['sleep', '600'], { ...place, timeoutMs: 200 })).ending.reason, 'timedOut');
    assert.equal((await client.run(['sleep', '600'], { ...place, idleTimeoutMs: 200 })).ending.reason, 'idleTimedOut');
  },
  'a refusal of what the server cannot do': async (client) => {
    await assert.rejects(
      client.start({ ...place, argv: ['sh'], io: { kind: 'pty', rows: 50, cols: 100 } }),
      /50 rows and 100 columns/,
    );
    await assert.rejects(client.run(['cat'], { ...place, input: 'x' }), /closing the stdin of a pipe/);
    await assert.rejects(client.list(), /does not implement `process\/list`/);
    await assert.rejects(client.run(['no-such-program'], place), /No such file/);
  },
  'one process unread, another read': async (client) => {
    const flood = await client.start({ ...place, argv: ['head', '-c', '20000000', '/dev/zero'] });
    assert.equal((await client.run(['echo', 'through'], place)).stdout.text, 'through\n');
    let bytes = 0;
    for await (const chunk of flood.output) bytes += chunk.bytes.length;
    assert.equal(bytes, 20_000_000);
  },
  'retained output by page': async (client) => {
    const child = await client.start({ ...place, argv: ['echo', 'paged'] });
    await child.closed;
    const { chunks, closed, nextBytes } = await child.read();
    assert.deepEqual([Buffer.concat(chunks.map(({ chunk }) => chunk)).toString(), closed, nextBytes], ['paged\n', true, 6]);
  },
};

try {
  for (const transport of transports) await runTransport(transport);
} finally {
  for (const pid of processesWith(`E2E_MARK=${mark}`)) kill(pid);
  rmSync(root, { recursive: true, maxRetries: 3 });
}
process.stdout.write(`${count.passed} passed, ${count.failed} failed\n`);
if (count.failed > 0) process.exitCode = 1;

async function runTransport(transport) {
  const opened = transport === 'stdio' ? { client: await launched() } : await connected(transport);
  for (const [about, play] of Object.entries(scenarios)) await report(`${transport}: ${about}`, () => play(opened.client));
  await report(`${transport}: no process is left when the client has closed`, async () => {
    await opened.client.start({ ...place, argv: ['sleep', '600'] });
    await opened.client.close();
    await eventuallyNone(() => processesWith(`E2E_MARK=${mark}`, 'E2E_CHILD=1'), { complaint: 'left behind', patienceMs });
  });
  opened.server?.kill('SIGTERM');
  if (opened.server !== undefined) await once(opened.server, 'close');
}

function launched() {
  return launchServer({ command: codex, args: ['exec-server', '--listen', 'stdio'], cwd: folder, env: serverEnv });
}

async function connected(transport) {
  const token = transport === 'token' ? randomUUID() : undefined;
  const file = path.join(root, 'secret');
  if (token !== undefined) writeFileSync(file, token, { mode: 0o600 });
  const access = token === undefined ? [] : ['--ws-auth', 'capability-token', '--ws-token-file', file];
  const args = ['exec-server', '--listen', 'ws://127.0.0.1:0', ...access];
  const server = spawn(codex, args, { cwd: folder, env: serverEnv, stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = await once(createInterface(server.stdout), 'line', { signal: AbortSignal.timeout(patienceMs) });
  return { server, client: await connect(url, token === undefined ? {} : { token }) };
}

async function report(about, check) {
  try {
    await check();
    count.passed += 1;
    process.stdout.write(`ok    ${about}\n`);
  } catch (error) {
    count.failed += 1;
    process.stdout.write(`FAIL  ${about}\n${error.stack.replaceAll(/^/gm, '      | ')}\n`);
  }
}
