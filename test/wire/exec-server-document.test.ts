// The twenty test cases of the exec-server document, under their original names, against a real server. Where Sluice differs on purpose,
// the test name says so and docs/differences.md explains why.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { type Client, connect, launchServer } from '#src/index.js';
import { parseListenUrl } from '#src/transport/endpoint.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { overStdio, overWebSocket } from '../support/raw-connections.js';
import { type RawPeer, errorOf, paramsOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer, program } from '../support/sluice-server.js';

const env = { PATH: process.env['PATH'] ?? '' };
const echoing = `printf 'ready\\n'; while IFS= read -r line; do printf 'echo:%s\\n' "$line"; done`;

describe('the exec-server document', () => {
  guardAgainstLeaks();
  describe('connection', connectionCases);
  describe('routing', routingCases);
  describe('transport', transportCases);
  describe('stdio smoke', smokeCases);
});

function connectionCases(): void {
  test('stdio_connection_reads_and_writes_jsonrpc_messages', async () => {
    await using peer = await overStdio();
    peer.send('{"id":7,"method":"initialize","params":{"clientName":"test-client"}}');
    assert.equal(resultOf(await peer.reply(7))['protocolVersion'], 'exec-server.v0');
    assert.match(peer.lastText, /^\{"id":7,"result":\{/);
  });

  test('stdio_connection_reports_parse_errors (differs: answered with id -1, and the connection stays open)', async () => {
    await using peer = await overStdio();
    peer.send('not-json');
    const { code, message } = errorOf(await peer.reply(-1));
    assert.equal(code, -32600);
    assert.match(message, /^not JSON: /);
    resultOf(await peer.request('initialize', { clientName: 'test-client' }));
  });

  test('stdio_connection_reports_clean_disconnect', async () => {
    const args = [program, 'serve', '--listen', 'stdio', '--log-level', 'warn'];
    const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const exited = once(server, 'exit');
    server.stdin.end();
    const [stdout, stderr] = await Promise.all([readText(server.stdout), readText(server.stderr)]);
    assert.deepEqual([await exited, stdout, stderr], [[0, null], '', '']);
  });
}

function routingCases(): void {
  let server: SluiceServer;
  before(async () => {
    server = await SluiceServer.start('websocket');
  });
  after(() => server[Symbol.asyncDispose]());

  async function greeted(): Promise<RawPeer> {
    const peer = await overWebSocket(server.url);
    await peer.greet();
    return peer;
  }

  test('routes_initialize_requests_to_typed_variants', async () => {
    await using peer = await overWebSocket(server.url);
    const reply = await peer.requestAs(1, 'initialize', { clientName: 'test-client' });
    assert.equal(resultOf(reply)['protocolVersion'], 'exec-server.v0');
  });

  test('malformed_exec_params_return_immediate_error_outbound', async () => {
    await using peer = await greeted();
    assert.equal(errorOf(await peer.requestAs(2, 'process/start', { processId: 'proc-1' })).code, -32602);
  });

  test('routes_initialized_notifications_to_typed_variants', async () => {
    await using peer = await overWebSocket(server.url);
    resultOf(await peer.request('initialize', { clientName: 'test-client' }));
    assert.equal(errorOf(await peer.request('process/list')).code, -32600);
    peer.send('{"method":"initialized","params":{}}');
    assert.deepEqual(resultOf(await peer.request('process/list')), { processes: [] });
  });

  test('serializes_typed_notifications_back_to_jsonrpc', async () => {
    await using peer = await greeted();
    resultOf(await peer.request('process/start', { processId: 'proc-1', argv: ['true'], cwd: '/', env, tty: false, arg0: null }));
    const exited = await peer.notification('process/exited', 'proc-1');
    assert.deepEqual(Object.keys(exited), ['method', 'params']);
    const { processId, exitCode } = paramsOf(exited);
    assert.deepEqual({ processId, exitCode }, { processId: 'proc-1', exitCode: 0 });
  });

  test('serializes_typed_responses_back_to_jsonrpc', async () => {
    await using peer = await greeted();
    const params = { processId: 'proc-1', argv: ['true'], cwd: '/', env, tty: false, arg0: null };
    const reply = await peer.requestAs(3, 'process/start', params);
    assert.deepEqual(Object.keys(reply), ['id', 'result']);
    assert.equal(resultOf(reply)['processId'], 'proc-1');
  });

  test('routes_exec_requests_with_typed_params', async () => {
    await using peer = await greeted();
    const cwd = process.cwd();
    const params = { processId: 'proc-1', argv: ['bash', '-lc', 'true'], cwd, env: {}, tty: true, arg0: null };
    assert.equal(resultOf(await peer.requestAs(4, 'process/start', params))['processId'], 'proc-1');
    const [status] = resultOf(await peer.request('process/list'))['processes'] as [Record<string, unknown>];
    const { processId, argv, io } = status;
    assert.deepEqual(
      { processId, argv, cwd: status['cwd'], io },
      { processId: 'proc-1', argv: params.argv, cwd, io: { kind: 'pty', rows: 24, cols: 80 } },
    );
    assert.equal(paramsOf(await peer.notification('process/exited', 'proc-1'))['exitCode'], 0);
  });

  test('unknown_request_methods_return_immediate_invalid_request_errors (differs: -32601, as in JSON-RPC)', async () => {
    await using peer = await greeted();
    const { code, message } = errorOf(await peer.requestAs(5, 'process/unknown', {}));
    assert.equal(code, -32601);
    assert.match(message, /process\/unknown/);
  });

  test('unexpected_client_notifications_are_rejected (differs: answered with id -1, and the connection stays open)', async () => {
    await using peer = await greeted();
    peer.send('{"method":"process/output","params":{}}');
    const { code, message } = errorOf(await peer.reply(-1));
    assert.deepEqual([code, message], [-32600, 'unexpected notification "process/output"; nothing was done']);
    assert.deepEqual(resultOf(await peer.request('environment/status')), { status: 'ready' });
  });

  test('unexpected_client_responses_are_rejected (differs: ignored without a reply)', async () => {
    await using peer = await greeted();
    const receivedBefore = peer.messages.length;
    peer.send('{"id":6,"result":{}}');
    assert.deepEqual(resultOf(await peer.request('environment/status')), { status: 'ready' });
    assert.equal(peer.messages.length, receivedBefore + 1);
  });
}

function transportCases(): void {
  const refusal = (listen: string) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'serve', '--listen', listen], { encoding: 'utf8' });
    return { isRefused: status !== 0 && stdout === '', stderr };
  };

  test('exec_server_transport_parses_stdio_listen_url', async () => {
    assert.deepEqual(parseListenUrl('stdio://'), { kind: 'stdio' });
    const args = [program, 'serve', '--listen', 'stdio://', '--log-level', 'error'];
    const input = '{"id":1,"method":"initialize","params":{"clientName":"test-client"}}\n';
    const { stdout } = spawnSync(process.execPath, args, { input, encoding: 'utf8' });
    assert.match(stdout, /^\{"id":1,"result":\{"protocolVersion":"exec-server.v0"/);
  });

  test('exec_server_transport_parses_websocket_listen_url', async () => {
    assert.deepEqual(parseListenUrl('ws://127.0.0.1:1234'), {
      kind: 'websocket',
      isSecure: false,
      host: '127.0.0.1',
      port: 1234,
    });
    await using server = await SluiceServer.start('websocket');
    assert.match(server.url, /^ws:\/\/127\.0\.0\.1:\d+$/);
  });

  test('exec_server_transport_rejects_invalid_websocket_listen_url', () => {
    const { isRefused, stderr } = refusal('ws://localhost:1234');
    assert.equal(isRefused, true);
    assert.match(stderr, /invalid listen URL "ws:\/\/localhost:1234"; expected an IP address and a port/);
  });

  test('exec_server_transport_rejects_unsupported_listen_url', () => {
    const { isRefused, stderr } = refusal('http://127.0.0.1:1234');
    assert.equal(isRefused, true);
    assert.match(stderr, /unsupported listen URL "http:\/\/127\.0\.0\.1:1234"; expected ws:\/\/IP:PORT/);
  });
}

function smokeCases(): void {
  test('exec_server_accepts_initialize_over_stdio', async () => {
    await using peer = await overStdio();
    const reply = await peer.requestAs(1, 'initialize', { clientName: 'exec-server-test' });
    assert.equal(resultOf(reply)['protocolVersion'], 'exec-server.v0');
    peer.send('{"method":"initialized","params":{}}');
    assert.deepEqual(resultOf(await peer.request('environment/status')), { status: 'ready' });
  });

  async function echoesOnATerminal(client: Client): Promise<void> {
    const io = { kind: 'pty', rows: 24, cols: 80 } as const;
    const child = await client.start({ argv: ['bash', '-lc', echoing], cwd: process.cwd(), env, io });
    assert.equal((await child.collectUntil({ text: 'ready', deadlineMs: 20_000 })).reason, 'text');
    await child.write('hello\n');
    const { chunks, reason } = await child.collectUntil({ text: 'echo:hello', deadlineMs: 20_000 });
    assert.deepEqual([reason, new Set(chunks.map(({ stream }) => stream))], ['text', new Set(['pty'])]);
    assert.equal(await child.terminate(), true);
    await child.closed;
  }

  test('exec_server_client_streams_output_and_accepts_writes', async () => {
    const args = [program, 'serve', '--listen', 'stdio', '--log-level', 'error'];
    await using client = await launchServer({ command: process.execPath, args, clientName: 'exec-server-test' });
    await echoesOnATerminal(client);
  });

  test('exec_server_client_connects_over_websocket', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url, { clientName: 'exec-server-test' });
    await echoesOnATerminal(client);
  });

  test('websocket_disconnect_terminates_processes_for_that_connection', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const marker = join(folder, 'marker');
    try {
      await using server = await SluiceServer.start('websocket');
      const peer = await overWebSocket(server.url);
      await peer.greet();
      const script = `sleep 600 & echo $!; wait; printf disconnected > ${marker}`;
      const params = { processId: 'proc-1', argv: ['bash', '-c', script], cwd: '/', env, tty: false, arg0: null };
      const leader = Number(resultOf(await peer.request('process/start', params))['pid']);
      await peer.notification('process/output', 'proc-1');
      const pids = [leader, Number.parseInt(peer.outputOf('proc-1'), 10)];
      assert.deepEqual(await living(pids), pids);
      await peer[Symbol.asyncDispose]();
      await eventually(async () => assert.deepEqual(await living(pids), []));
      assert.equal(existsSync(marker), false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
