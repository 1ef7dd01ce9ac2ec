// Clients that disconnect in the middle of a conversation, or stop reading without disconnecting. They leave nothing behind and do not
// affect other clients.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { connect } from '#src/index.js';
import { env } from '../contract/connector.js';
import { collect, ended, startSluice } from '../support/cli.js';
import { eventually, settled } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { childrenOf, descriptorCount } from '../support/proc.js';
import { living } from '../support/processes.js';
import { SluiceServer } from '../support/sluice-server.js';

const shell = (script: string, more: object = {}) => ({ argv: ['sh', '-c', script], cwd: '/', env, tty: false, ...more });
const chunk = Buffer.alloc(100_000, 'x').toString('base64');

/** A complete conversation. The client disconnects after each line, and in the middle of each. */
const conversation = [
  { id: 1, method: 'initialize', params: { clientName: 'raw' } },
  { method: 'initialized' },
  { id: 2, method: 'process/start', params: { processId: 'flood', ...shell('echo $$; yes') } },
  { id: 3, method: 'process/start', params: { processId: 'terminal', ...shell('yes', { tty: true }) } },
  { id: 4, method: 'process/start', params: { processId: 'silent', ...shell('exec sleep 600', { pipeStdin: true }) } },
  { id: 5, method: 'process/write', params: { processId: 'silent', chunk, writeId: 'a' } },
  { id: 6, method: 'process/read', params: { processId: 'silent', waitMs: 60_000 } },
  { id: 7, method: 'process/wait', params: { processId: 'silent' } },
  { id: 8, method: 'process/snapshot', params: { processId: 'flood' } },
  { id: 9, method: 'command/exec', params: { command: ['sleep', '600'], env } },
  { id: 10, method: 'command/exec', params: { command: ['yes'], processId: 'c', streamStdoutStderr: true, env } },
  { id: 11, method: 'process/terminate', params: { processId: 'terminal', timeoutMs: 60_000 } },
  { id: 12, method: 'process/closeStdin', params: { processId: 'silent' } },
  { id: 13, method: 'session/close', params: {} },
].map((message) => JSON.stringify(message));

/** How the client disconnects. `deafReset` has never read anything. */
type Leaving = 'reset' | 'end' | 'deafReset';
const leavings: readonly Leaving[] = ['reset', 'end', 'deafReset'];

/** How long a conversation may proceed before the client disconnects. */
const talkMs = 50;

describe('a client that disconnects', { concurrency: true }, () => {
  guardAgainstLeaks();

  for (const kind of ['websocket', 'unix'] as const) {
    test(`after and within every message, in every way, over a ${kind}, leaves nothing behind`, async () => {
      await using server = await SluiceServer.start(kind, ['--log-level', 'error']);
      await using client = await connect(server.url);
      await client.run(['true'], { env });
      const descriptors = await settled(() => descriptorCount(server.child.pid));
      const talk = kind === 'unix' ? talkOverSocket : talkOverWebSocket;
      for (let count = 0; count <= conversation.length; count += 1) {
        await Promise.all(leavings.map(async (leaving) => talk(server.url, count, leaving)));
      }
      await eventually(async () => {
        const others = (await client.list({ scope: 'all' })).filter(({ argv }) => argv[0] !== 'true');
        assert.deepEqual(others, []);
        assert.deepEqual([childrenOf(server.child.pid).length, descriptorCount(server.child.pid)], [1, descriptors]); // the watchdog
      });
      assert.deepEqual(server.log, []);
    });
  }

  test('by being killed while it receives a flood does not affect others', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const commands = Array.from({ length: 8 }, () => startSluice(['exec', '--connect', server.url, '--', 'yes']));
    for (const command of commands) {
      await once(command.stdout, 'data');
      command.stdout.resume();
    }
    for (const command of commands) command.kill('SIGKILL');
    await Promise.all(commands.map((command) => ended(command)));
    const { stdout } = await client.run(['echo', 'fine'], { env });
    assert.equal(stdout.text, 'fine\n');
    // The sessions of the killed clients are kept for a reconnect, so their `yes` is still listed.
    assert.deepEqual(new Set((await client.list({ scope: 'all' })).map(({ argv }) => argv[0])), new Set(['echo', 'yes']));
  });
});

describe('a stopped client', { concurrency: true }, () => {
  guardAgainstLeaks();

  for (const kind of ['websocket', 'unix'] as const) {
    test(`over a ${kind} holds back only its own process, and misses nothing when it continues`, async () => {
      await using server = await SluiceServer.start(kind);
      await using other = await connect(server.url);
      const lines = 400_000;
      const command = startSluice(['exec', '--connect', server.url, '--', 'seq', '1', String(lines)]);
      const pieces = collect(command.stdout);
      await once(command.stdout, 'data');
      command.kill('SIGSTOP');
      const waiting = await settled(async () => (await other.list({ scope: 'all' }))[0]?.outputBytes);
      for (let round = 0; round < 5; round += 1) {
        assert.equal((await other.run(['echo', 'fine'], { env })).stdout.text, 'fine\n');
      }
      command.kill('SIGCONT');
      assert.equal(await ended(command), 0);
      if (!command.stdout.closed) await once(command.stdout, 'close');
      const seen = Buffer.concat(pieces).toString();
      const expected = Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join('');
      assert.ok(seen === expected, `${seen.length} of ${expected.length} characters, ${waiting} while stopped`);
    });
  }

  test('that is killed loses its process like any other', async () => {
    await using server = await SluiceServer.start('unix', ['--detach-grace-ms', '100']);
    await using other = await connect(server.url);
    const command = startSluice(['exec', '--connect', server.url, '--', 'yes']);
    await once(command.stdout, 'data');
    const [status] = await other.list({ scope: 'all' });
    command.kill('SIGSTOP');
    command.kill('SIGKILL');
    await ended(command);
    await eventually(async () => assert.deepEqual(await living([status?.pid ?? 0]), []));
  });
});

async function talkOverSocket(url: string, count: number, leaving: Leaving): Promise<void> {
  const socket = connectSocket(url.slice('unix://'.length));
  socket.on('error', () => {});
  if (leaving !== 'deafReset') socket.resume();
  for (const line of conversation.slice(0, count)) socket.write(`${line}\n`);
  socket.write(conversation[count]?.slice(0, conversation[count].length / 2) ?? '');
  await sleep(talkMs);
  if (leaving === 'end') socket.end();
  else socket.destroy();
  await once(socket, 'close');
}

async function talkOverWebSocket(url: string, count: number, leaving: Leaving): Promise<void> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  socket.on('error', () => {});
  await once(socket, 'open');
  if (leaving === 'deafReset') socket.pause();
  for (const line of conversation.slice(0, count)) socket.send(line);
  // A fragment without its final frame cuts the message in the middle.
  socket.send(conversation[count]?.slice(0, conversation[count].length / 2) ?? '', { fin: false });
  await sleep(talkMs);
  if (leaving === 'end') socket.close();
  else socket.terminate();
  if (socket.readyState !== socket.CLOSED) await once(socket, 'close');
}
