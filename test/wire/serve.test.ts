// `sluice serve` from the outside: how it starts, which clients it accepts, what it serves over HTTP, and how it stops.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { overStdio, overUnixSocket, overWebSocket } from '../support/raw-connections.js';
import { paramsOf } from '../support/raw-peer.js';
import { SluiceServer, program } from '../support/sluice-server.js';
import { selfSigned } from '../transport/self-signed.js';

const env = { PATH: process.env['PATH'] ?? '' };

describe('sluice serve', () => {
  guardAgainstLeaks();

  test('prints the address it listens on as its first line, with the port that the system chose', async () => {
    await using server = await SluiceServer.start('websocket');
    assert.match(server.url, /^ws:\/\/127\.0\.0\.1:\d+$/);
  });

  test('exits with 0 even if it is asked to stop right after printing its address', async () => {
    for (let run = 0; run < 10; run += 1) {
      const server = await SluiceServer.start('websocket', ['--log-level', 'silent']);
      assert.equal(await server.stop(), 0);
    }
  });

  test('ends its processes when asked to stop, even those that ignore SIGTERM, and exits with 0', async () => {
    const server = await SluiceServer.start('websocket', ['--force-after-ms', '100']);
    await using client = await connect(server.url, { timeouts: { reconnectMs: 100 } });
    const script = `trap '' TERM HUP; echo ready; while :; do sleep 1; done`;
    const child = await client.start({ argv: ['sh', '-c', script], env });
    await child.collectUntil({ text: 'ready', deadlineMs: 20_000 });
    assert.equal(await server.stop(), 0);
    assert.deepEqual(await living([child.pid]), []);
  });

  test('reports to its clients how their processes ended before it stops', async () => {
    for (const [kind, open] of [
      ['websocket', overWebSocket],
      ['unix', overUnixSocket],
    ] as const) {
      await using server = await SluiceServer.start(kind);
      await using peer = await open(server.url);
      await peer.greet();
      const script = 'exec 2>/dev/null; trap "sleep 0.3; echo over; exit 7" TERM; echo up; while :; do sleep 0.05; done';
      await peer.request('process/start', { processId: 'p', argv: ['sh', '-c', script], cwd: '/', env });
      await peer.notification('process/output', 'p');
      assert.equal(await server.stop(), 0);
      await peer.closed;
      const { exitCode } = paramsOf(await peer.notification('process/exited', 'p'));
      assert.deepEqual([peer.outputOf('p'), exitCode], ['up\nover\n', 7]);
      await peer.notification('process/closed', 'p');
    }
  });

  test('loads the code that starts processes with the first start, not for a session without any', async () => {
    await using server = await SluiceServer.start('websocket');
    const hasLogged = (message: string) => server.log.some((line) => line.includes(`"msg":"${message}"`));
    {
      await using idle = await connect(server.url);
      assert.deepEqual(await idle.list(), []);
    }
    await eventually(() => assert.ok(hasLogged('client gone'), server.log.join('\n')));
    assert.equal(hasLogged('ready to spawn'), false, server.log.join('\n'));
    await using client = await connect(server.url);
    await (
      await client.start({ argv: ['true'], env })
    ).closed;
    await eventually(() => assert.ok(hasLogged('ready to spawn'), server.log.join('\n')));
  });

  test('takes its processes with it when it is killed', async () => {
    const server = await SluiceServer.start('websocket');
    await using client = await connect(server.url, { timeouts: { reconnectMs: 100 } });
    const child = await client.start({ argv: ['sh', '-c', `trap '' TERM HUP; echo ready; while :; do sleep 1; done`], env });
    await child.collectUntil({ text: 'ready', deadlineMs: 20_000 });
    await server.stop('SIGKILL');
    await eventually(async () => assert.deepEqual(await living([child.pid]), []));
  });

  test('on stdio ends with its client, and ends its processes', async () => {
    const peer = await overStdio();
    await peer.greet({ resumeSessionId: null });
    const { result } = await peer.request('process/start', { processId: 'p', argv: ['sleep', '60'], env });
    await peer[Symbol.asyncDispose]();
    assert.deepEqual(await living([(result as { pid: number }).pid]), []);
  });

  test('refuses to listen beyond this machine without credentials, in one line with the remedy', () => {
    const { status, stderr } = spawnSync(process.execPath, ['--', program, 'serve', '--listen', 'ws://0.0.0.0:0'], {
      encoding: 'utf8',
    });
    assert.equal(status, 125);
    assert.match(stderr, /^sluice: refusing to listen on ws:\/\/0\.0\.0\.0:0 without credentials.*--token-file.*\n$/);
  });

  test('accepts only clients with the token, and never logs it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'very-secret-token\n');
    try {
      await using server = await SluiceServer.start('websocket', ['--token-file', tokenFile, '--log-level', 'debug']);
      await using client = await connect(server.url, { token: 'very-secret-token' });
      assert.equal((await client.run(['echo', 'in'], { env })).stdout.text, 'in\n');
      await assert.rejects(connect(server.url, { token: 'wrong' }), /401/);
      await assert.rejects(connect(server.url), /401/);
      assert.equal(server.log.join('\n').includes('very-secret-token'), false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('serves over TLS with a certificate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const { cert, key } = selfSigned();
    writeFileSync(join(folder, 'cert'), cert);
    writeFileSync(join(folder, 'key'), key);
    try {
      const flags = ['--listen', 'wss://127.0.0.1:0', '--tls-cert', join(folder, 'cert'), '--tls-key', join(folder, 'key')];
      await using server = await SluiceServer.start('websocket', flags);
      const url = await eventually(() => server.urls[1] ?? assert.fail('no second address'));
      assert.match(url, /^wss:/);
      await using client = await connect(url, { ca: cert });
      assert.equal((await client.run(['echo', 'encrypted'], { env })).stdout.text, 'encrypted\n');
      await assert.rejects(connect(url), /self-signed certificate/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('refuses origins and hosts that are not allowed', async () => {
    await using server = await SluiceServer.start('websocket', ['--allow-origin', 'http://good.example']);
    await assert.rejects(overWebSocket(server.url, { origin: 'http://evil.example' }), /403/);
    await assert.rejects(overWebSocket(server.url, { host: 'rebound.example' }), /403/);
    await using peer = await overWebSocket(server.url, { origin: 'http://good.example' });
    await peer.greet();
  });

  test('serves its health, readiness and metrics over HTTP', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url);
    await client.run(['echo', 'counted'], { env });
    const get = async (path: string, init?: RequestInit) => {
      const response = await fetch(server.url.replace('ws:', 'http:') + path, init);
      return { status: response.status, text: await response.text() };
    };
    assert.equal((await get('/healthz')).status, 200);
    assert.equal((await get('/readyz')).status, 200);
    assert.equal((await get('/')).status, 400);
    assert.equal((await get('/other')).status, 404);
    assert.equal((await get('/readyz', { method: 'POST' })).status, 405);
    const { text } = await get('/metrics');
    for (const line of [
      'sluice_connections 1',
      'sluice_output_bytes_total 8',
      'sluice_spawn_seconds_count 1',
      'sluice_requests_total{method="process/start"} 1',
    ]) {
      assert.ok(text.includes(`${line}\n`), `${line} is not in\n${text}`);
    }
  });

  test('logs as JSON lines, without arguments, environment or input', async () => {
    await using server = await SluiceServer.start('websocket', ['--log-level', 'debug']);
    await using client = await connect(server.url);
    await client.run(['cat', '/dev/stdin', '/secret-argument'], {
      env: { ...env, HIDDEN: 'secret-variable' },
      input: 'secret-input',
    });
    await eventually(() => assert.ok(server.log.some((line) => line.includes('process started'))));
    for (const line of server.log) JSON.parse(line);
    assert.equal(/secret-(argument|variable|input)/.test(server.log.join('\n')), false);
  });

  test('is not delayed by a child that never reads the 64 MiB it is offered', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url);
    await using stuck = await client.start({ argv: ['sleep', '60'], env, io: { kind: 'pipe', stdin: 'open' } });
    const offers = Array.from({ length: 64 }, async () =>
      stuck.write(new Uint8Array(1024 * 1024)).catch((error: unknown) => error),
    );
    await using echo = await client.start({ argv: ['cat'], env, io: { kind: 'pipe', stdin: 'open' } });
    await echo.write('hello\n');
    assert.equal((await echo.collectUntil({ text: 'hello\n', deadlineMs: 20_000 })).reason, 'text');
    assert.equal((await fetch(`${server.url.replace('ws:', 'http:')}/healthz`)).status, 200);
    await stuck.terminate();
    assert.equal((await stuck.closed).reason, 'terminated');
    await Promise.all(offers);
  });
});
