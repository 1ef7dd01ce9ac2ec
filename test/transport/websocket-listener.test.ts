// The WebSocket listener: who is let in, what is refused with which status, and how connections die.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, get, request } from 'node:http';
import { type Socket, connect } from 'node:net';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import type { Channel } from '#src/rpc/channel.js';
import { type WebSocketListener, type WebSocketListenerOptions, listenWebSocket } from '#src/transport/websocket-listener.js';
import { eventually, settled } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';
import { loopback, openDoor } from './channel-pairs.js';

guardAgainstLeaks();

describe('an upgrade', () => {
  test('is let in with the identity that was found', async () => {
    await using door = await listen({
      authorize: ({ headers }) => ({ ok: true, identity: headers.authorization ?? 'nobody' }),
    });
    await using _client = await join(door, { headers: { authorization: 'Bearer t' } });
    assert.deepEqual(door.identities, ['Bearer t']);
    assert.match(door.channels[0]?.peer ?? '', /^127\.0\.0\.1:\d+$/);
  });

  test('is refused with the status, text and headers given', async () => {
    await using door = await listen({
      authorize: () => ({ ok: false, status: 401, text: 'a token is needed ✓', headers: { 'www-authenticate': 'Bearer' } }),
    });
    const response = await refusal(door.listener.url);
    assert.deepEqual(
      [response.status, response.text, response.headers['www-authenticate']],
      [401, 'a token is needed ✓', 'Bearer'],
    );
    assert.deepEqual(door.channels, []);
  });

  test('is only possible at the path /, with or without a query', async () => {
    await using door = await listen();
    assert.equal((await refusal(`${door.listener.url}/other`)).status, 404);
    assert.equal((await refusal(`${door.listener.url}//`)).status, 404);
    await using client = await join(door, { path: '/?a=b' });
    assert.equal(client.readyState, WebSocket.OPEN);
  });

  test('never gets a subprotocol back but the one that was chosen', async () => {
    await using silent = await listen();
    await assert.rejects(join(silent, { protocols: ['bearer.secret', 'sluice'] }), /Server sent no subprotocol/);
    await using door = await listen({ authorize: () => ({ ok: true, identity: '', subprotocol: 'sluice' }) });
    await using client = await join(door, { protocols: ['bearer.secret', 'sluice'] });
    assert.equal(client.protocol, 'sluice');
  });

  test('is never compressed', async () => {
    await using door = await listen();
    await using client = await join(door, { perMessageDeflate: true });
    assert.equal(client.extensions, '');
  });

  test('that is malformed is refused', async () => {
    await using door = await listen();
    const { status } = await rawAnswer(
      door.listener,
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    assert.equal(status, 400);
  });

  test('that hangs up while it is being refused disturbs nobody', async () => {
    await using door = await listen({ authorize: () => ({ ok: false, status: 403, text: 'x'.repeat(10_000_000) }) });
    const raw = connect(door.listener.endpoint.port, '127.0.0.1');
    raw.end('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await once(raw, 'readable');
    raw.resetAndDestroy();
    assert.equal((await plain(`${door.listener.url}/`)).status, 400);
  });
});

describe('a connection too many', () => {
  test('is refused with 503, and there is room again when another has gone', async () => {
    await using door = await listen({ maxConnections: 1 });
    const first = await join(door);
    assert.deepEqual(await refusal(door.listener.url).then(({ status, text }) => [status, text]), [
      503,
      'all 1 connections are in use',
    ]);
    await first[Symbol.asyncDispose]();
    await eventually(async () => {
      await using client = await join(door);
      assert.equal(client.readyState, WebSocket.OPEN);
    });
  });

  test('is dropped when even refusals would be too many', async () => {
    await using door = await listen({ maxConnections: 1 });
    const idle = Array.from({ length: 80 }, () => connect(door.listener.endpoint.port, '127.0.0.1'));
    const ended = idle.map((socket) =>
      once(
        socket.on('error', () => {}),
        'close',
      ),
    );
    await Promise.race(ended);
    for (const socket of idle) socket.destroy();
    await Promise.all(ended);
  });
});

describe('a plain request', () => {
  test('for / is told that this is a WebSocket, for anything else that there is nothing', async () => {
    await using door = await listen();
    const { status, text, headers } = await plain(`${door.listener.url}/`);
    assert.deepEqual(
      [status, text, headers['content-type']],
      [400, 'there is a WebSocket at the path / and nothing else', 'text/plain; charset=utf-8'],
    );
    assert.equal((await plain(`${door.listener.url}/readyz`)).status, 404);
  });

  test('is answered by whoever answers them', async () => {
    await using door = await listen({
      onRequest: ({ method, url }, response) => void response.writeHead(200).end(`${method} ${url}`),
    });
    assert.equal((await plain(`${door.listener.url}/readyz`)).text, 'GET /readyz');
    assert.equal((await plain(`${door.listener.url}/`, 'POST')).text, 'POST /');
  });
});

describe('messages', () => {
  test('come as text or bytes; bytes may hold JSON or a frame, and nothing else', async () => {
    await using door = await listen();
    await using client = await join(door);
    const recorder = record(door.only);
    for (const content of ['{}', Buffer.from('{"a":1}'), Buffer.from(' \n[]'), Buffer.of(0x01, 7, 8), Buffer.of(0x01)])
      client.send(content);
    for (const content of [Buffer.of(0x02, 7), Buffer.alloc(0), Buffer.from('[]'), Buffer.from('{\xff', 'latin1')])
      client.send(content);
    await eventually(() => assert.equal(recorder.arrivals.length, 9));
    assert.deepEqual(recorder.arrivals, [
      '{}',
      '{"a":1}',
      ' \n[]',
      { binary: '0708' },
      { binary: '' },
      { unreadable: 'a binary message starts with byte 2, expected 1 before a frame or { before JSON' },
      { unreadable: 'a binary message is empty' },
      { unreadable: 'a binary message starts with byte 91, expected 1 before a frame or { before JSON' },
      { unreadable: 'a binary message holds text that is not valid UTF-8' },
    ]);
  });

  test('go out as text, and frames as bytes after a mark', async () => {
    await using door = await listen();
    await using client = await join(door);
    const received: [string, boolean][] = [];
    client.on('message', (content: Buffer, isBinary) => received.push([content.toString('latin1'), isBinary]));
    door.only.send('{}');
    door.only.sendBinary(Buffer.from('abc'));
    await eventually(() =>
      assert.deepEqual(received, [
        ['{}', false],
        ['\u0001abc', true],
      ]),
    );
  });

  test('as long as allowed are read; a longer one closes its connection with code 1009', async () => {
    await using door = await listen({ maxMessageBytes: 100 });
    const client = await join(door);
    const recorder = record(door.only);
    client.send('x'.repeat(100));
    client.send('x'.repeat(101));
    const [code] = (await once(client, 'close')) as [number];
    assert.equal(code, 1009);
    assert.deepEqual(await door.only.closed, { problem: 'Max payload size exceeded' });
    assert.deepEqual(recorder.arrivals, ['x'.repeat(100)]);
  });

  test('of text that is not UTF-8 close their connection with code 1007', async () => {
    await using door = await listen();
    const client = await join(door);
    record(door.only);
    client.send(Buffer.from('"\xff"', 'latin1'), { binary: false });
    const [code] = (await once(client, 'close')) as [number];
    assert.equal(code, 1007);
    assert.match((await door.only.closed).problem ?? '', /invalid UTF-8/);
  });
});

describe('a peer', () => {
  test('that resets in the middle of a frame ends its channel with a problem, and no other', async () => {
    await using door = await listen();
    await using other = await join(door);
    const raw = await rawWebSocket(door.listener);
    const [first, second] = [door.channels[0], door.channels[1]];
    assert.ok(first !== undefined && second !== undefined);
    const [recorder] = [record(first), record(second)];
    raw.write(Buffer.of(0x81, 0x85, 0, 0, 0, 0, 0x7b));
    raw.resetAndDestroy();
    assert.match((await second.closed).problem ?? '', /ECONNRESET|broke off/);
    other.send('{}');
    await eventually(() => assert.deepEqual(recorder.arrivals, ['{}']));
  });

  test('that hangs up without a close ends its channel with a problem', async () => {
    await using door = await listen();
    const raw = await rawWebSocket(door.listener);
    record(door.only);
    raw.end();
    assert.deepEqual(await door.only.closed, { problem: 'the connection broke off without a close' });
  });

  test('that closes for a reason of its own is quoted', async () => {
    await using door = await listen();
    const client = await join(door);
    record(door.only);
    client.close(4321, 'tired');
    assert.deepEqual(await door.only.closed, { problem: 'closed by the peer: tired (4321)' });
  });

  test('that never answers a close is given up on', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs: 1_000_000 });
    await rawWebSocket(door.listener);
    record(door.only);
    door.only.close();
    await clock.advance(4_999);
    assert.equal(door.listener.url.startsWith('ws://127.0.0.1:'), true);
    await clock.advance(1);
    assert.deepEqual(await door.only.closed, { problem: 'the peer did not answer the close' });
  });

  test('sees no delay between two small messages', async () => {
    await using door = await listen();
    await using client = await join(door);
    let received = 0;
    client.on('message', () => (received += 1));
    const startedAt = performance.now();
    for (let round = 1; round <= 20; round += 1) {
      door.only.send('1');
      door.only.send('2');
      await eventuallySoon(() => received === 2 * round);
    }
    // With Nagle's algorithm each round would wait for the peer's delayed acknowledgement: 40 ms.
    assert.ok(performance.now() - startedAt < 20 * 40);
  });
});

describe('pings', () => {
  const pingMs = 30_000;

  test('are sent regularly, and a peer that answers stays', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs });
    await using client = await join(door);
    record(door.only);
    let pings = 0;
    client.on('ping', () => (pings += 1));
    for (const round of [1, 2, 3]) {
      await clock.advance(pingMs);
      await eventually(() => assert.equal(pings, round));
      await heard(client, door.only);
    }
  });

  test('end a peer that does not answer', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs });
    const raw = await rawWebSocket(door.listener);
    const closed = once(raw, 'close');
    record(door.only);
    await clock.advance(pingMs);
    assert.equal(await settled(() => raw.destroyed), false);
    await clock.advance(pingMs);
    assert.deepEqual(await door.only.closed, { problem: 'the peer did not answer a ping' });
    await closed;
  });

  test('do not end a peer whose answers we do not read', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs });
    await using client = await join(door);
    const recorder = record(door.only);
    door.only.pause();
    for (let round = 0; round < 3; round += 1) await clock.advance(pingMs);
    client.send('"alive"');
    door.only.resume();
    await eventually(() => assert.deepEqual(recorder.arrivals, ['"alive"']));
  });

  test('do not end a slow reader that has not come to them yet, but in time one that has stopped reading', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs });
    const raw = (await rawWebSocket(door.listener)).pause();
    record(door.only);
    for (let count = 0; count < 40; count += 1) door.only.send('x'.repeat(1_000_000));
    await settled(() => door.only.queuedBytes);
    let hasEnded = false;
    void door.only.closed.then(() => (hasEnded = true));
    for (let round = 0; round < 5; round += 1) await clock.advance(pingMs);
    assert.equal(hasEnded, false);
    await clock.advance(pingMs);
    assert.deepEqual(await door.only.closed, { problem: 'the peer did not answer a ping' });
    raw.destroy();
  });
});

describe('the listener', () => {
  test('tells the port it got', async () => {
    await using door = await listen();
    const { port } = door.listener.endpoint;
    assert.ok(port > 0);
    assert.equal(door.listener.url, `ws://127.0.0.1:${port}`);
  });

  test('listens on IPv6', async () => {
    await using door = await listen({ endpoint: { ...loopback, host: '::1' } });
    assert.match(door.listener.url, /^ws:\/\/\[::1\]:\d+$/);
    await using _client = await join(door);
    assert.match(door.channels[0]?.peer ?? '', /^\[::1\]:\d+$/);
  });

  test('names the address it cannot listen on', async () => {
    await using door = await listen();
    await assert.rejects(listen({ endpoint: door.listener.endpoint }), {
      name: 'EndpointError',
      message: new RegExp(`^cannot listen on ${door.listener.url}: listen EADDRINUSE`),
    });
  });

  test('waits for its channels to be closed, and cuts off what is left after the grace', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock });
    const [client, raw] = [await join(door), await rawWebSocket(door.listener)];
    const closed = [once(client, 'close'), once(raw, 'close')];
    const [first, second] = door.channels;
    assert.ok(first !== undefined && second !== undefined);
    for (const channel of door.channels) record(channel);
    let isClosed = false;
    const closing = door.listener.close({ graceMs: 1_000 }).then(() => (isClosed = true));
    await assert.rejects(once(connect(door.listener.endpoint.port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
    first.send('"goodbye"');
    first.close();
    assert.deepEqual(await first.closed, {});
    assert.equal(isClosed, false);
    await clock.advance(1_000);
    assert.deepEqual(await second.closed, { problem: 'the server has stopped' });
    await closing;
    await Promise.all(closed);
  });

  test('closes at once when nothing is left', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock });
    const idle = connect(door.listener.endpoint.port, '127.0.0.1');
    await once(idle, 'connect');
    await door.listener.close({ graceMs: 1_000_000 });
    await door.listener.close({ graceMs: 1_000_000 });
    assert.deepEqual(clock.pendingMs, []);
    await once(idle.resume(), 'close');
  });
});

interface Door extends AsyncDisposable {
  readonly listener: WebSocketListener;
  readonly channels: Channel[];
  readonly identities: string[];
  /** The only channel there is. */
  readonly only: Channel;
}

async function listen(options: Partial<WebSocketListenerOptions<string>> = {}): Promise<Door> {
  const [channels, identities]: [Channel[], string[]] = [[], []];
  const listener = await listenWebSocket({
    ...openDoor,
    ...options,
    onChannel(channel, identity) {
      channels.push(channel);
      identities.push(identity);
    },
  });
  return {
    listener,
    channels,
    identities,
    get only() {
      const [channel] = channels;
      assert.ok(channel !== undefined && channels.length === 1);
      return channel;
    },
    async [Symbol.asyncDispose]() {
      for (const channel of channels) channel.close();
      const closing = listener.close({ graceMs: 0 });
      if (options.clock instanceof FakeClock) await options.clock.advance(0);
      await closing;
    },
  };
}

type Client = WebSocket & AsyncDisposable;

interface ClientOptions {
  readonly path?: string;
  readonly protocols?: string[];
  readonly headers?: Record<string, string>;
  readonly perMessageDeflate?: boolean;
}

async function join({ listener }: Door, { path = '', protocols = [], ...options }: ClientOptions = {}): Promise<Client> {
  const socket = new WebSocket(`${listener.url}${path}`, protocols, { perMessageDeflate: false, ...options });
  await once(socket, 'open');
  return Object.assign(socket, {
    async [Symbol.asyncDispose]() {
      if (socket.readyState === WebSocket.CLOSED) return;
      const closed = once(socket, 'close');
      socket.terminate();
      await closed;
    },
  });
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
}

/** What a client that wanted a WebSocket is told instead. */
async function refusal(url: string): Promise<Answer> {
  const socket = new WebSocket(url);
  socket.on('error', () => {});
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const answer = await answerIn(response);
  socket.terminate();
  return answer;
}

async function plain(url: string, method: 'GET' | 'POST' = 'GET'): Promise<Answer> {
  const asked = (method === 'GET' ? get : request)(url.replace(/^ws/, 'http'), { method, agent: false });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return answerIn(response);
}

async function answerIn(response: IncomingMessage): Promise<Answer> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part as string;
  return { status: response.statusCode, text, headers: response.headers };
}

async function rawAnswer({ endpoint }: WebSocketListener, head: string): Promise<{ status: number; socket: Socket }> {
  const socket = connect(endpoint.port, '127.0.0.1');
  socket.write(head);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  if (!bytes.toString().startsWith('HTTP/1.1 101')) socket.destroy();
  return { status: Number(bytes.toString().slice(9, 12)), socket };
}

/** A WebSocket that answers nothing by itself. */
async function rawWebSocket(listener: WebSocketListener): Promise<Socket> {
  const handshake = [
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ];
  const { status, socket } = await rawAnswer(listener, `GET / HTTP/1.1\r\n${handshake.join('\r\n')}\r\n\r\n`);
  assert.equal(status, 101);
  return socket.on('error', () => {});
}

/** Both directions have been gone through, so that what was sent before has arrived. */
async function heard(client: WebSocket, channel: Channel): Promise<void> {
  const ponged = once(client, 'pong');
  client.ping();
  await ponged;
  channel.send('{}');
  await once(client, 'message');
}

async function eventuallySoon(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
