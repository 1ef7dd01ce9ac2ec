// Flows as a client of another make uses them: JSON only, with a resumed session, and with a client that does not keep to the rules.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../support/eventually.js';
import { FarEnd, echo, received } from '../support/far-end.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overStdio, overWebSocket } from '../support/raw-connections.js';
import { type RawPeer, errorOf, paramsOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const allow = ['--allow-forward'];

describe('a client that knows only JSON', () => {
  guardAgainstLeaks();

  test('opens a flow, sends right behind the call, and gets the bytes and the end', async () => {
    await using far = await FarEnd.listen(echo);
    await using peer = await overStdio(allow);
    await peer.greet();
    const opened = peer.request('ports/open', { flowId: 1, port: far.port });
    data(peer, [1, 0], 'hello');
    note(peer, 'flow/end', { flowId: 1, offset: 5 });
    assert.deepEqual(resultOf(await opened), {});
    await peer.find((message) => message.method === 'flow/end', 'an end');
    assert.equal(bytesOf(peer, 1), 'hello');
    assert.deepEqual(
      peer.messages
        .filter(({ method }) => method === 'flow/end' || method === 'flow/ack')
        .map((each) => [each.method, paramsOf(each)]),
      [
        ['flow/ack', { flowId: 1, offset: 5 }],
        ['flow/end', { flowId: 1, offset: 5 }],
      ],
    );
  });

  test('gets a reply again when it repeats a call, but cannot use the id for another', async () => {
    await using far = await FarEnd.listen(echo);
    await using peer = await overStdio(allow);
    await peer.greet();
    resultOf(await peer.request('ports/open', { flowId: 1, port: far.port }));
    resultOf(await peer.request('ports/open', { flowId: 1, port: far.port }));
    assert.equal(far.sockets.size, 1);
    assert.match(
      errorOf(await peer.request('files/read', { flowId: 1, path: '/etc/hostname' })).message,
      /flow 1 already exists/,
    );
  });

  test('is refused more flows than the limit, and may open one again when another has ended', async () => {
    await using far = await FarEnd.listen(echo);
    await using peer = await overStdio([...allow, '--max-flows', '2']);
    await peer.greet();
    for (const flowId of [1, 2]) resultOf(await peer.request('ports/open', { flowId, port: far.port }));
    assert.equal(errorOf(await peer.request('ports/open', { flowId: 3, port: far.port })).code, -32024);
    note(peer, 'flow/reset', { flowId: 1, problem: 'enough' });
    resultOf(await peer.request('ports/open', { flowId: 4, port: far.port }));
    await eventually(() => assert.equal(far.sockets.size, 2));
  });

  for (const [what, method, params] of [
    ['sends bytes from the future', 'flow/data', { offset: 10, chunk: 'eA==' }],
    ['ends where it has not been', 'flow/end', { offset: 10 }],
    ['acknowledges what was not sent', 'flow/ack', { offset: 10 }],
  ] as const) {
    test(`that ${what} gets a reset, and its other flows go on`, async () => {
      await using far = await FarEnd.listen(echo);
      await using peer = await overStdio(allow);
      await peer.greet();
      for (const flowId of [1, 2]) resultOf(await peer.request('ports/open', { flowId, port: far.port }));
      note(peer, method, { flowId: 1, ...params });
      const reset = await peer.find((message) => message.method === 'flow/reset', 'a reset');
      assert.equal(paramsOf(reset)['flowId'], 1);
      data(peer, [2, 0], 'still here');
      await eventually(() => assert.equal(bytesOf(peer, 2), 'still here'));
      await eventually(() => assert.equal(far.sockets.size, 1));
    });
  }

  test('that floods a flow whose reader does not read gets a reset', async () => {
    await using far = await FarEnd.listen((socket) => void socket.pause());
    await using peer = await overStdio(allow);
    await peer.greet();
    resultOf(await peer.request('ports/open', { flowId: 1, port: far.port }));
    const chunk = 'x'.repeat(60_000);
    const isReset = () => peer.messages.some(({ method }) => method === 'flow/reset');
    for (let offset = 0; offset < 200_000_000 && !isReset(); offset += chunk.length) {
      data(peer, [1, offset], chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const reset = await peer.find((message) => message.method === 'flow/reset', 'a reset');
    assert.match(String(paramsOf(reset)['problem']), /expected at most a window of bytes/);
  });

  test('that talks about unknown flows is ignored', async () => {
    await using peer = await overStdio(allow);
    await peer.greet();
    data(peer, [77, 0], 'x');
    note(peer, 'flow/ack', { flowId: 77, offset: 1 });
    note(peer, 'flow/end', { flowId: 77, offset: 1 });
    note(peer, 'flow/reset', { flowId: 77, problem: 'x' });
    resultOf(await peer.request('environment/info', {}));
    assert.deepEqual(
      peer.messages.filter(({ method, error }) => method !== undefined || error !== undefined),
      [],
    );
  });
});

describe('a flow of a session', () => {
  guardAgainstLeaks();

  test('continues where a resumed client says it is', async () => {
    await using far = await FarEnd.listen(echo);
    await using server = await SluiceServer.start('websocket', allow);
    const first = await overWebSocket(server.url);
    const sessionId = String(resultOf(await first.greet({ resumeSessionId: null }))['sessionId']);
    resultOf(await first.request('ports/open', { flowId: 1, port: far.port }));
    data(first, [1, 0], 'abcdef');
    await eventually(() => assert.equal(bytesOf(first, 1), 'abcdef'));
    await first[Symbol.asyncDispose]();
    await using second = await overWebSocket(server.url);
    const resumed = resultOf(await second.greet({ resumeSessionId: sessionId, flows: { 1: 4, 9: 0 } }));
    assert.deepEqual(resumed['flows'], { 1: 6 });
    data(second, [1, 3], 'defghi'); // repeats what has arrived
    await eventually(() => assert.equal(bytesOf(second, 1), 'efghi'));
  });

  test('that a resumed client does not name is reset', async () => {
    await using far = await FarEnd.listen(echo);
    await using server = await SluiceServer.start('websocket', allow);
    const first = await overWebSocket(server.url);
    const sessionId = String(resultOf(await first.greet({ resumeSessionId: null }))['sessionId']);
    resultOf(await first.request('ports/open', { flowId: 1, port: far.port }));
    await first[Symbol.asyncDispose]();
    assert.equal(far.sockets.size, 1);
    await using second = await overWebSocket(server.url);
    await second.greet({ resumeSessionId: sessionId });
    await eventually(() => assert.equal(far.sockets.size, 0));
  });

  test('whose client claims to have received more than was sent is reset', async () => {
    await using far = await FarEnd.listen(echo);
    await using server = await SluiceServer.start('websocket', allow);
    const first = await overWebSocket(server.url);
    const sessionId = String(resultOf(await first.greet({ resumeSessionId: null }))['sessionId']);
    resultOf(await first.request('ports/open', { flowId: 1, port: far.port }));
    await first[Symbol.asyncDispose]();
    await using second = await overWebSocket(server.url);
    await second.greet({ resumeSessionId: sessionId, flows: { 1: 5 } });
    const reset = await second.find((message) => message.method === 'flow/reset', 'a reset');
    assert.match(String(paramsOf(reset)['problem']), /cannot continue at 5/);
  });

  test('ends with a session that cannot be resumed', async () => {
    await using far = await FarEnd.listen((socket) => void received(socket).catch(() => {}));
    await using server = await SluiceServer.start('websocket', allow);
    const peer = await overWebSocket(server.url);
    await peer.greet();
    resultOf(await peer.request('ports/open', { flowId: 1, port: far.port }));
    assert.equal(far.sockets.size, 1);
    await peer[Symbol.asyncDispose]();
    await eventually(() => assert.equal(far.sockets.size, 0));
  });
});

function note(peer: RawPeer, method: string, params: object): void {
  peer.send(JSON.stringify({ method, params }));
}

function data(peer: RawPeer, [flowId, offset]: readonly [number, number], content: string): void {
  note(peer, 'flow/data', { flowId, offset, chunk: Buffer.from(content).toString('base64') });
}

/** Everything that has arrived on a flow. */
function bytesOf(peer: RawPeer, flowId: number): string {
  return peer.messages
    .filter((message) => message.method === 'flow/data' && paramsOf(message)['flowId'] === flowId)
    .map((message) => Buffer.from(String(paramsOf(message)['chunk']), 'base64').toString())
    .join('');
}
