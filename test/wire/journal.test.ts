// What an operator learns from a real server's log and metrics: which callers were refused, who started what, and how it ended.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { answerTo, request, statusesIn, upgradeHeaders } from '../security/raw-http.js';
import { scratchFolder } from '../server/auth-tokens.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overUnixSocket, overWebSocket } from '../support/raw-connections.js';
import { resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const token = 'a-token-for-the-journal';
const authorization = `Bearer ${token}`;
const subject = `token:${createHash('sha256').update(token).digest('hex').slice(0, 8)}`;
const env = { PATH: process.env['PATH'] ?? '' };

type Line = Readonly<Record<string, unknown>>;

/** The lines of the log with this message, once there are `count`. */
async function linesWith(server: SluiceServer, text: string, count: number): Promise<Line[]> {
  return eventually(() => {
    const lines = server.log.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === text);
    assert.equal(lines.length, count, server.log.join('\n'));
    return lines;
  });
}

async function metricsOf(server: SluiceServer): Promise<string> {
  const response = await fetch(`${server.url.replace('ws:', 'http:')}/metrics`, { headers: { authorization } });
  return response.text();
}

describe('the log and the metrics', () => {
  guardAgainstLeaks();

  test('show who started each process and how it ended, including one-shot commands', async () => {
    using folder = scratchFolder();
    await using server = await SluiceServer.start('websocket', ['--token-file', folder.write('token', token)]);
    await using peer = await overWebSocket(server.url, { authorization });
    await peer.greet();
    resultOf(await peer.request('process/start', { processId: 'coded', argv: ['sh', '-c', 'exit 3'], env }));
    resultOf(await peer.request('process/start', { processId: 'ended', argv: ['sleep', '60'], env }));
    resultOf(await peer.request('process/terminate', { processId: 'ended' }));
    resultOf(await peer.request('command/exec', { processId: 'once', command: ['true'] }));
    for (const processId of ['coded', 'ended']) await peer.notification('process/closed', processId);
    const started = await linesWith(server, 'process started', 3);
    const ended = await linesWith(server, 'process ended', 3);
    const of = (lines: readonly Line[], processId: string) => lines.find((line) => line['processId'] === processId) ?? {};
    for (const processId of ['coded', 'ended', 'once']) {
      const [start, end] = [of(started, processId), of(ended, processId)];
      assert.deepEqual([start['subject'], end['subject']], [subject, subject]);
      assert.match(String(start['peer']), /^127\.0\.0\.1:\d+$/);
      assert.deepEqual([end['pid'], end['program'], end['peer']], [start['pid'], start['program'], start['peer']]);
    }
    const facts = ({ exitCode, signal, reason, outputComplete }: Line) => ({ exitCode, signal, reason, outputComplete });
    const complete = { exitCode: undefined, signal: undefined, outputComplete: true };
    assert.deepEqual(
      ['coded', 'ended', 'once'].map((processId) => facts(of(ended, processId))),
      [
        { ...complete, exitCode: 3, reason: 'exited' },
        { ...complete, signal: 'SIGTERM', reason: 'terminated' },
        { ...complete, exitCode: 0, reason: 'exited' },
      ],
    );
    const metrics = await metricsOf(server);
    assert.match(metrics, /^sluice_process_endings_total\{reason="exited"\} 2$/m);
    assert.match(metrics, /^sluice_process_endings_total\{reason="terminated"\} 1$/m);
    assert.equal(server.log.join('\n').includes(token), false);
  });

  test('show processes that end with their client, and callers without a credential', async () => {
    await using server = await SluiceServer.start('unix');
    await using _lost = await overUnixSocket(server.url).then(async (peer) => {
      await peer.greet();
      resultOf(await peer.request('process/start', { processId: 'p', argv: ['sleep', '60'], env }));
      await peer[Symbol.asyncDispose]();
      return peer;
    });
    const [ended = {}] = await linesWith(server, 'process ended', 1);
    assert.deepEqual([ended['subject'], ended['reason'], ended['signal']], ['anybody', 'disconnected', 'SIGTERM']);
    assert.match(String(ended['peer']), /^unix:.* client 1$/);
  });

  test('show refused credentials as one line per address, a count of the rest, and no token', async () => {
    using folder = scratchFolder();
    await using server = await SluiceServer.start('websocket', ['--token-file', folder.write('token', token)]);
    const guesses = Array.from({ length: 30 }, (_, index) => `guess-number-${index}`);
    for (const guess of guesses) {
      const answer = await answerTo(server, request(server, 'GET /', [...upgradeHeaders, `Authorization: Bearer ${guess}`]));
      assert.deepEqual(statusesIn(answer), [401]);
    }
    // A refused plain HTTP request counts too; a health check needs no credential.
    assert.deepEqual(statusesIn(await answerTo(server, request(server, 'GET /metrics', []))), [401]);
    assert.deepEqual(statusesIn(await answerTo(server, request(server, 'GET /healthz', []))), [200]);
    const rebound = 'GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n';
    assert.deepEqual(statusesIn(await answerTo(server, rebound)), [403]);
    const [first = {}] = await linesWith(server, 'request refused', 1);
    assert.deepEqual([first['level'], first['address'], first['status']], ['info', '127.0.0.1', 401]);
    assert.equal(first['problem'], 'the token is unknown to this server');
    const metrics = await metricsOf(server);
    assert.match(metrics, /^sluice_refused_requests_total\{status="401"\} 31$/m);
    assert.match(metrics, /^sluice_refused_requests_total\{status="403"\} 1$/m);
    assert.equal(await server.stop(), 0);
    const [rest = {}] = await linesWith(server, 'more requests refused', 1);
    assert.deepEqual([rest['address'], rest['refusals']], ['127.0.0.1', 31]);
    assert.equal(/guess|journal/.test(server.log.join('\n')), false);
  });
});
