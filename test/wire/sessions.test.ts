// Promise 6, continuity, on the wire: sessions outlive their connection, have one connection at a time, and are shared only on request.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { decodeOutputFrame } from '#src/protocol/index.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { overWebSocket } from '../support/raw-connections.js';
import { type RawPeer, errorOf, paramsOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const env = { PATH: process.env['PATH'] ?? '' };
const shell = (script: string, more: object = {}) => ({ argv: ['sh', '-c', script], cwd: '/tmp', env, tty: false, ...more });

/** Prints a number every 10 ms, each on its own line. */
const counting = 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.01; done';

describe('sessions', () => {
  guardAgainstLeaks();

  test('without resumeSessionId, processes end with the connection', async () => {
    await using server = await SluiceServer.start('websocket');
    const peer = await overWebSocket(server.url);
    await peer.greet();
    const pid = await startedPid(peer, shell('sleep 60'));
    await peer[Symbol.asyncDispose]();
    await eventually(async () => assert.deepEqual(await living([pid]), []));
  });

  test('with resumeSessionId, even null, processes keep running and the session can be resumed', async () => {
    await using server = await SluiceServer.start('websocket');
    const first = await overWebSocket(server.url);
    const sessionId = sessionOf(await first.greet({ resumeSessionId: null }));
    const pid = await startedPid(first, shell(counting));
    await first.notification('process/output', 'p');
    await first[Symbol.asyncDispose]();
    await using second = await overWebSocket(server.url);
    const resumed = await resume(second, { resumeSessionId: sessionId });
    assert.equal(sessionOf(resumed), sessionId);
    assert.deepEqual(await living([pid]), [pid]);
    const page = resultOf(await second.request('process/read', { processId: 'p', afterSeq: 0 }));
    assert.equal((page['chunks'] as { seq: number }[])[0]?.seq, 1);
    await second.notification('process/output', 'p');
  });

  test('a client without acks that reconnects reads past the output dropped in the meantime, to the true end', async () => {
    await using server = await SluiceServer.start('websocket');
    const first = await overWebSocket(server.url);
    const sessionId = sessionOf(await first.greet({ resumeSessionId: null }));
    await startedPid(first, shell('echo first; read -r _; head -c 3000000 /dev/zero; exec sleep 60', { pipeStdin: true }));
    await first.notification('process/output', 'p');
    first.send(JSON.stringify({ id: 1, method: 'process/write', params: { processId: 'p', chunk: 'Cg==' } }));
    await first[Symbol.asyncDispose]();
    await using second = await overWebSocket(server.url);
    await resume(second, { resumeSessionId: sessionId });
    const status = async () => (resultOf(await second.request('process/list', {}))['processes'] as Record<string, unknown>[])[0];
    await eventually(async () => assert.equal((await status())?.['outputBytes'], 3_000_006));
    const page = resultOf(await second.request('process/read', { processId: 'p', afterSeq: 1, maxBytes: null, waitMs: 0 }));
    const chunks = page['chunks'] as { seq: number; chunk: string }[];
    const readBytes = chunks.reduce((sum, { chunk }) => sum + Buffer.from(chunk, 'base64').length, 0);
    assert.equal(page['nextSeq'], (await status())?.['nextSeq']);
    assert.deepEqual([readBytes + Number(page['droppedBytes']), page['exited']], [3_000_000, false]);
    assert.notEqual(page['droppedBytes'], 0);
  });

  test('a process named like a property of every object is resumed like any other', async () => {
    await using server = await SluiceServer.start('websocket');
    const first = await overWebSocket(server.url);
    const sessionId = sessionOf(await first.greet({ resumeSessionId: null }));
    for (const processId of ['constructor', 'toString', '__proto__']) {
      resultOf(await first.request('process/start', { ...shell('cat'), processId, pipeStdin: true }));
    }
    await first[Symbol.asyncDispose]();
    await using second = await overWebSocket(server.url);
    await resume(second, { resumeSessionId: sessionId });
    for (const processId of ['constructor', 'toString', '__proto__']) {
      resultOf(await second.request('process/write', { processId, chunk: 'aGkK' }));
      await second.notification('process/output', processId);
    }
  });

  test('with a cursor, the events continue right after it', async () => {
    await using server = await SluiceServer.start('websocket');
    const first = await overWebSocket(server.url);
    const sessionId = sessionOf(await first.greet({ resumeSessionId: null, capabilities: { acks: true } }));
    await startedPid(first, shell('seq 1 50; exit 3'));
    await first.notification('process/closed', 'p');
    await first[Symbol.asyncDispose]();
    await using second = await overWebSocket(server.url);
    await resume(second, { resumeSessionId: sessionId, cursors: { p: 1 }, capabilities: { acks: true } });
    await second.notification('process/closed', 'p');
    const events = second.messages.filter(({ method }) => method?.startsWith('process/'));
    assert.deepEqual(
      events.map((event) => paramsOf(event)['seq']),
      events.map((_, index) => index + 2),
    );
  });

  test('a process forgotten in the meantime is replayed after the cursor with acks, and listed as forgotten without', async () => {
    await using server = await SluiceServer.start('websocket', ['--keep-closed-ms', '1']);
    for (const acks of [true, false]) {
      const first = await overWebSocket(server.url);
      const sessionId = sessionOf(await first.greet({ resumeSessionId: null, capabilities: { acks } }));
      await startedPid(first, shell('echo last words'));
      await first.notification('process/closed', 'p');
      await eventually(async () => assert.deepEqual(resultOf(await first.request('process/list'))['processes'], []));
      await first[Symbol.asyncDispose]();
      await using second = await overWebSocket(server.url);
      const cursors = { p: 1, neverWas: 0 };
      const { forgotten } = resultOf(await resume(second, { resumeSessionId: sessionId, cursors, capabilities: { acks } }));
      assert.deepEqual(forgotten, acks ? ['neverWas'] : ['p', 'neverWas']);
      if (acks) await second.notification('process/closed', 'p');
    }
  });

  test('a retried start of a forgotten process returns the first reply with acks, and starts another without', async () => {
    await using server = await SluiceServer.start('websocket', ['--keep-closed-ms', '1']);
    for (const acks of [true, false]) {
      await using peer = await overWebSocket(server.url);
      await peer.greet({ capabilities: { acks } });
      const pid = await startedPid(peer, shell('exit 0'));
      await peer.notification('process/closed', 'p');
      await eventually(async () => assert.deepEqual(resultOf(await peer.request('process/list'))['processes'], []));
      assert.equal((await startedPid(peer, shell('exit 0', { retry: true }))) === pid, acks);
    }
  });

  test('a session that is not resumed ends with its processes after the grace period', async () => {
    await using server = await SluiceServer.start('websocket', ['--detach-grace-ms', '200']);
    const first = await overWebSocket(server.url);
    const sessionId = sessionOf(await first.greet({ resumeSessionId: null }));
    const pid = await startedPid(first, shell('sleep 60'));
    await first[Symbol.asyncDispose]();
    await eventually(async () => assert.deepEqual(await living([pid]), []));
    await using second = await overWebSocket(server.url);
    const error = errorOf(await second.request('initialize', { clientName: 'raw', resumeSessionId: sessionId }));
    assert.deepEqual([error.code, error.message], [-32600, `unknown session id ${sessionId}`]);
  });

  test('resuming an attached session is refused with -32010, unless it is taken over: then the other connection is closed', async () => {
    await using server = await SluiceServer.start('websocket');
    await using first = await overWebSocket(server.url);
    const sessionId = sessionOf(await first.greet({ resumeSessionId: null }));
    await startedPid(first, shell(counting));
    await using second = await overWebSocket(server.url);
    const refused = errorOf(await second.request('initialize', { clientName: 'raw', resumeSessionId: sessionId }));
    assert.deepEqual([refused.code, refused.message], [-32010, `session ${sessionId} is already attached to another connection`]);
    await resume(second, { resumeSessionId: sessionId, takeover: true });
    await second.notification('process/output', 'p');
    await first.closed;
  });

  test('another connection may watch a process, and needs the role "drive" to write to it', async () => {
    await using server = await SluiceServer.start('websocket');
    await using owner = await overWebSocket(server.url);
    const sessionId = sessionOf(await owner.greet());
    await startedPid(owner, shell('echo started; while read -r line; do echo "got $line"; done', { pipeStdin: true }));
    await owner.notification('process/output', 'p');
    await using viewer = await overWebSocket(server.url);
    await viewer.greet();
    const listed = resultOf(await viewer.request('process/list', { scope: 'all' }))['processes'] as Record<string, unknown>[];
    assert.deepEqual(
      listed.map(({ processId, sessionId: of }) => [processId, of]),
      [['p', sessionId]],
    );
    resultOf(await viewer.request('process/attach', { processId: 'p', sessionId }));
    await viewer.find(() => viewer.outputOf('p') === 'started\n', 'the replay');
    const write = { processId: 'p', chunk: Buffer.from('hi\n').toString('base64') };
    assert.match(errorOf(await viewer.request('process/write', write)).message, /role "drive"/);
    resultOf(await viewer.request('process/attach', { processId: 'p', sessionId, role: 'drive', afterSeq: 1 }));
    resultOf(await viewer.request('process/write', write));
    await owner.find(() => owner.outputOf('p').includes('got hi'), 'the answer at the owner');
    await viewer.find(() => viewer.outputOf('p').includes('got hi'), 'the answer at the viewer');
    resultOf(await viewer.request('process/detach', { processId: 'p' }));
    assert.equal(errorOf(await viewer.request('process/read', { processId: 'p' })).code, -32600);
  });

  test('an id means one process per connection, either its own or an attached one', async () => {
    await using server = await SluiceServer.start('websocket');
    await using owner = await overWebSocket(server.url);
    const sessionId = sessionOf(await owner.greet());
    await using guest = await overWebSocket(server.url);
    await guest.greet();
    for (const processId of ['theirs', 'both']) await startedPid(owner, { ...shell('sleep 60'), processId });
    await startedPid(guest, { ...shell('sleep 60'), processId: 'both' });
    resultOf(await guest.request('process/attach', { processId: 'theirs', sessionId }));
    const started = errorOf(await guest.request('process/start', { ...shell('true'), processId: 'theirs' }));
    assert.deepEqual(started.data, { kind: 'processExists', processId: 'theirs' });
    const attached = errorOf(await guest.request('process/attach', { processId: 'both', sessionId }));
    assert.deepEqual(attached.data, { kind: 'processExists', processId: 'both' });
  });

  test('an invalid acknowledgement is answered with an error, and the connection stays open', async () => {
    await using server = await SluiceServer.start('websocket');
    await using peer = await overWebSocket(server.url);
    await peer.greet({ capabilities: { acks: true } });
    peer.send('{"method":"process/ack","params":{"processId":"p","seq":"one"}}');
    assert.equal(errorOf(await peer.reply(-1)).code, -32602);
    peer.send('{"method":"process/ack","params":{"processId":"p","seq":1}}'); // for an unknown process: ignored
    assert.deepEqual(resultOf(await peer.request('environment/status')), { status: 'ready' });
    assert.equal(peer.messages.filter(({ id }) => id === -1).length, 1);
  });

  test('a session of another caller cannot be seen, attached to or resumed', async () => {
    const { createHash } = await import('node:crypto');
    const hashes = ['alice', 'bob'].flatMap((token) => ['--token-sha256', createHash('sha256').update(token).digest('hex')]);
    await using server = await SluiceServer.start('websocket', hashes);
    await using alice = await overWebSocket(server.url, { authorization: 'Bearer alice' });
    const sessionId = sessionOf(await alice.greet({ resumeSessionId: null }));
    await startedPid(alice, shell('sleep 60'));
    await using bob = await overWebSocket(server.url, { authorization: 'Bearer bob' });
    await bob.greet();
    assert.deepEqual(resultOf(await bob.request('process/list', { scope: 'all' })), { processes: [] });
    assert.equal(errorOf(await bob.request('process/attach', { processId: 'p', sessionId })).code, -32600);
    await using thief = await overWebSocket(server.url, { authorization: 'Bearer bob' });
    const stolen = { clientName: 'raw', resumeSessionId: sessionId, takeover: true };
    assert.equal(errorOf(await thief.request('initialize', stolen)).code, -32600);
  });

  test('a session closed by its client starts nothing more', async () => {
    await using server = await SluiceServer.start('websocket');
    await using peer = await overWebSocket(server.url);
    const sessionId = sessionOf(await peer.greet());
    const pid = await startedPid(peer, shell('sleep 60'));
    resultOf(await peer.request('session/close'));
    assert.deepEqual(await living([pid]), []);
    for (const [method, params] of [
      ['process/start', { processId: 'q', ...shell('true') }],
      ['command/exec', { command: ['true'] }],
    ] as const) {
      const { data } = errorOf(await peer.request(method, params));
      assert.deepEqual(data, { kind: 'sessionClosed', sessionId }, method);
    }
  });

  test('a start with an id in use fails, and the handle of the first process keeps working', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url);
    await using first = await client.start({ id: 'x', argv: ['cat'], env, io: { kind: 'pipe', stdin: 'open' } });
    await assert.rejects(client.start({ id: 'x', argv: ['true'], env }), /process x already exists/);
    await first.write('still here\n');
    assert.equal((await first.collectUntil({ text: 'still here', deadlineMs: 20_000 })).reason, 'text');
  });

  test('output is sent in binary frames to clients that ask for them, and as text to all others', async () => {
    await using server = await SluiceServer.start('websocket');
    for (const binaryOutput of [true, false]) {
      await using peer = await overWebSocket(server.url);
      await peer.greet({ capabilities: { binaryOutput } });
      await startedPid(peer, shell('printf "caf\\303\\251"'));
      await peer.notification('process/closed', 'p');
      const expected = { processId: 'p', seq: 1, stream: 'stdout', chunk: Buffer.from('café') };
      // The first byte marks a binary message as an output frame.
      const framed = peer.frames.map((frame) => decodeOutputFrame(frame.subarray(1)));
      assert.deepEqual(framed, binaryOutput ? [expected] : []);
      assert.equal(Buffer.from(peer.outputOf('p'), 'latin1').toString(), binaryOutput ? '' : 'café');
    }
  });
});

function sessionOf(reply: Awaited<ReturnType<RawPeer['request']>>): string {
  return String(resultOf(reply)['sessionId']);
}

async function resume(peer: RawPeer, params: object) {
  const reply = await peer.request('initialize', { clientName: 'raw', ...params });
  peer.send('{"method":"initialized"}');
  return reply;
}

async function startedPid(peer: RawPeer, params: object): Promise<number> {
  return Number(resultOf(await peer.request('process/start', { processId: 'p', ...params }))['pid']);
}
