// HTTP requests that a server makes for its callers: what they send and return, where they may lead, and that none outlives its caller.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { type RawMessage, type RawPeer, errorOf, paramsOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A website on loopback, and a server that is asked to visit it. */
class Place implements AsyncDisposable {
  readonly base: string;
  readonly peer: RawPeer;
  readonly server: SluiceServer;
  readonly #website: ReturnType<typeof createServer>;

  private constructor(website: ReturnType<typeof createServer>, server: SluiceServer, peer: RawPeer) {
    this.#website = website;
    this.server = server;
    this.peer = peer;
    this.base = `http://127.0.0.1:${(website.address() as AddressInfo).port}`;
  }

  static async open(answer: Answer, flags: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Place> {
    const website = createServer(answer).listen(0, '127.0.0.1');
    await once(website, 'listening');
    const server = await SluiceServer.start('websocket', flags, { env });
    const peer = await overWebSocket(server.url);
    await peer.greet();
    return new Place(website, server, peer);
  }

  async ask(path: string, more: object = {}) {
    return this.peer.request('http/request', { method: 'GET', url: `${this.base}${path}`, requestId: 'r', ...more });
  }

  async code(more: object): Promise<number> {
    return errorOf(await this.ask('/', more)).code;
  }

  /** The notifications about a body so far, with the text of each. */
  deltas(requestId: string): { seq: unknown; text: string; done: unknown; error: unknown }[] {
    return this.peer.messages
      .filter(({ method, ...message }) => method === 'http/request/bodyDelta' && paramsOf(message)['requestId'] === requestId)
      .map((message) => {
        const { seq, deltaBase64, done, error } = paramsOf(message);
        return { seq, text: Buffer.from(String(deltaBase64), 'base64').toString(), done, error };
      });
  }

  /** All of them, once the last has arrived. */
  async body(requestId: string) {
    const isLast = ({ method, ...message }: RawMessage) => {
      const params = paramsOf(message);
      return method === 'http/request/bodyDelta' && params['requestId'] === requestId && params['done'] === true;
    };
    await this.peer.find(isLast, 'last part');
    return this.deltas(requestId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
    this.#website.closeAllConnections();
    this.#website.close();
  }
}

function bodyOf(reply: Record<string, unknown>): string {
  return Buffer.from(String(resultOf(reply)['bodyBase64']), 'base64').toString();
}

/** Answers with the request itself. */
const echo: Answer = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => response.end(JSON.stringify([request.method, request.rawHeaders, Buffer.concat(chunks).toString()])));
};

describe('an HTTP request', () => {
  guardAgainstLeaks();

  test('keeps the order of its headers, and takes values from the server’s variables', async () => {
    await using place = await Place.open(echo, [], { TOKEN: 'secret' });
    const headers = [
      { name: 'X-B', value: '1' },
      { name: 'x-a', value: '2' },
      { name: 'X-B', value: '3' },
      { name: 'authorization', value: 'Bearer ', valueEnvVar: 'TOKEN' },
    ];
    const reply = await place.ask('/', { method: 'POST', headers, bodyBase64: 'aGk=' });
    const [method, raw, body] = JSON.parse(bodyOf(reply)) as [string, string[], string];
    assert.deepEqual([method, body], ['POST', 'hi']);
    assert.deepEqual(raw.slice(0, 10), ['X-B', '1', 'x-a', '2', 'X-B', '3', 'authorization', 'Bearer secret', 'accept', '*/*']);
  });

  test('returns the headers in order with repeats, without those that are not plain ASCII', async () => {
    await using place = await Place.open((_, response) => {
      response.writeHead(200, ['A', 'one', 'a', 'two', 'X', 'caf\u00e9', 'Content-Length', '0']).end();
    });
    const { status, headers } = resultOf(await place.ask('/'));
    const names = (headers as { name: string; value: string }[]).map(({ name, value }) => `${name}: ${value}`);
    assert.deepEqual([status, names.slice(0, 3)], [200, ['a: one', 'a: two', 'content-length: 0']]);
  });

  test('that is malformed, or wants a variable that is absent, empty or secret, is refused', async () => {
    await using place = await Place.open(echo, [], { EMPTY: '', OPENAI_API_KEY: 'k' });
    const wrong = [
      { url: 'nope' },
      { url: 'ftp://127.0.0.1/' },
      { method: 'no method' },
      { method: 'CONNECT' },
      { requestId: undefined },
      { headers: [{ name: 'a b', value: '' }] },
      { headers: [{ name: 'a', value: 'x\ny' }] },
      ...['ABSENT', 'EMPTY', 'OPENAI_API_KEY', 'openai_api_key'].map((valueEnvVar) => ({
        headers: [{ name: 'a', value: '', valueEnvVar }],
      })),
    ];
    for (const params of wrong) assert.equal(await place.code(params), -32602, JSON.stringify(params));
  });

  test('fails if nobody listens, if no answer comes in time, or if the body is cut', async () => {
    await using place = await Place.open(({ url }, response) => {
      if (url !== '/cut') return;
      response.writeHead(200, { 'content-length': 100 });
      response.write('part', () => response.destroy());
    });
    assert.equal(await place.code({ url: 'http://127.0.0.1:1/' }), -32603);
    assert.equal(await place.code({ timeoutMs: 20 }), -32603);
    assert.equal(errorOf(await place.ask('/cut')).code, -32603);
  });
});

describe('a redirect', () => {
  guardAgainstLeaks();

  const redirecting: Answer = (request, response) => {
    const [, status, target] = /^\/(\d+)-(.*)/.exec(request.url ?? '') ?? [];
    if (status === undefined || target === undefined) echo(request, response);
    else response.writeHead(Number(status), { location: decodeURIComponent(target) }).end();
  };

  test('is followed with the method that browsers use, or not at all', async () => {
    await using place = await Place.open(redirecting);
    const methods: Record<string, unknown> = {};
    for (const status of [301, 302, 303, 307, 308]) {
      for (const method of ['POST', 'PUT']) {
        const [used, , body] = JSON.parse(bodyOf(await place.ask(`/${status}-end`, { method, bodyBase64: 'aGk=' }))) as string[];
        methods[`${status} ${method}`] = `${used} ${body}`;
      }
    }
    assert.deepEqual(methods, {
      '301 POST': 'GET ',
      '301 PUT': 'PUT hi',
      '302 POST': 'GET ',
      '302 PUT': 'PUT hi',
      '303 POST': 'GET ',
      '303 PUT': 'GET ',
      '307 POST': 'POST hi',
      '307 PUT': 'PUT hi',
      '308 POST': 'POST hi',
      '308 PUT': 'PUT hi',
    });
    assert.equal(resultOf(await place.ask('/302-end', { redirectPolicy: 'stop' }))['status'], 302);
  });

  test('to another origin gets no credentials', async () => {
    await using place = await Place.open(redirecting, [], { KEY: 'secret' });
    const headers = [
      { name: 'Authorization', value: 'a' },
      { name: 'Cookie', value: 'b' },
      { name: 'X-Key', value: '', valueEnvVar: 'KEY' },
      { name: 'X-Plain', value: 'c' },
    ];
    const sent = async (target: string) => {
      const [, raw] = JSON.parse(bodyOf(await place.ask(`/302-${encodeURIComponent(target)}`, { headers }))) as [
        string,
        string[],
      ];
      return raw.filter((name) => /^(?:authorization|cookie|x-.*)$/i.test(name));
    };
    assert.deepEqual(await sent('/end'), ['Authorization', 'Cookie', 'X-Key', 'X-Plain']);
    assert.deepEqual(await sent(`${place.base.replace('127.0.0.1', 'localhost')}/end`), ['X-Plain']);
  });

  test('that never ends, leads to a file, or out of loopback, fails', async () => {
    await using place = await Place.open(redirecting);
    const follow = async (target: string) => errorOf(await place.ask(`/302-${encodeURIComponent(target)}`));
    assert.match((await follow('file:///etc/passwd')).message, /unsupported URL scheme: file/);
    const outside = await follow('http://192.0.2.1/');
    assert.deepEqual([outside.code, outside.message.includes('--reach 192.0.2.1')], [-32600, true]);
    await using loop = await Place.open((_, response) => response.writeHead(302, { location: '/' }).end());
    assert.match(errorOf(await loop.ask('/')).message, /too many redirects/);
  });
});

describe('a streamed body', () => {
  guardAgainstLeaks();

  test('follows the reply in numbered parts, the last of which is empty', async () => {
    await using place = await Place.open((_, response) => {
      response.write('one');
      setImmediate(() => response.end('two'));
    });
    const reply = await place.ask('/', { streamResponse: true });
    assert.equal(bodyOf(reply), '');
    const deltas = await place.body('r');
    assert.equal(deltas.map(({ text }) => text).join(''), 'onetwo');
    assert.deepEqual(
      deltas.map(({ seq }) => seq),
      deltas.map((_, at) => at + 1),
    );
    assert.deepEqual(deltas.at(-1), { seq: deltas.length, text: '', done: true, error: null });
    const { messages } = place.peer;
    assert.ok(messages.indexOf(reply) < messages.findIndex(({ method }) => method === 'http/request/bodyDelta'));
  });

  test('that is cut ends with an error', async () => {
    await using place = await Place.open((_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('part', () => response.destroy());
    });
    await place.ask('/', { streamResponse: true });
    const deltas = await place.body('r');
    assert.equal(deltas.map(({ text }) => text).join(''), 'part');
    assert.match(String(deltas.at(-1)?.error), /connection was lost/);
  });

  test('has an id of its own until it ends; ids of other requests may be equal', async () => {
    const waiting: ServerResponse[] = [];
    await using place = await Place.open(({ url }, response) => {
      if (url !== '/wait') return void response.end('x');
      response.flushHeaders();
      waiting.push(response);
    });
    await place.ask('/wait', { streamResponse: true });
    assert.equal(errorOf(await place.ask('/', { streamResponse: true })).code, -32602);
    assert.equal(bodyOf(await place.ask('/')), 'x');
    waiting[0]?.end();
    await place.body('r');
    assert.equal(resultOf(await place.ask('/', { streamResponse: true }))['status'], 200);
  });

  test('is read no faster than its caller takes it', async () => {
    const total = 64 * 1024 * 1024;
    const chunk = Buffer.alloc(1024 * 1024);
    let sent = 0;
    await using place = await Place.open(({ url }, response) => {
      if (url === '/small') return void response.end('x');
      const send = (): void => {
        for (; sent < total;) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', send);
        }
        response.end();
      };
      send();
    });
    await place.ask('/large', { streamResponse: true });
    place.peer.pause();
    await using other = await overWebSocket(place.server.url);
    await other.greet();
    // While the server answers another caller, it has every opportunity to read on.
    for (let at = 0; at < 100; at += 1) {
      await other.request('http/request', { method: 'GET', url: `${place.base}/small`, requestId: 's' });
    }
    assert.ok(sent < total / 2, `${sent} bytes were read for a caller that takes none`);
    place.peer.resume();
    const received = (await place.body('r')).reduce((sum, { text }) => sum + text.length, 0);
    assert.equal(received, total);
  });
});

describe('the requests of a caller', () => {
  guardAgainstLeaks();

  test('end with its connection, whether they wait for an answer or stream one', async () => {
    const arrived: string[] = [];
    const closed: string[] = [];
    await using place = await Place.open(({ url = '' }, response) => {
      arrived.push(url);
      response.once('close', () => closed.push(url));
      if (url === '/stream') response.write('x');
    });
    {
      await using peer = await overWebSocket(place.server.url);
      await peer.greet({ resumeSessionId: null });
      for (const path of ['/stream', '/wait']) {
        const params = { method: 'GET', url: `${place.base}${path}`, requestId: path, streamResponse: true };
        peer.send(JSON.stringify({ id: path, method: 'http/request', params }));
      }
      await peer.find(({ method }) => method === 'http/request/bodyDelta', 'a part of the body');
      await eventually(() => assert.deepEqual(arrived.toSorted(), ['/stream', '/wait']));
      assert.deepEqual(closed, []);
    }
    await eventually(() => assert.deepEqual(closed.toSorted(), ['/stream', '/wait']));
  });

  test('lead to loopback only, unless the operator opens a host', async () => {
    await using place = await Place.open(echo);
    for (const url of ['http://192.0.2.1/', 'http://[2001:db8::1]/', 'http://0.0.0.0/', 'http://[::ffff:192.0.2.1]/']) {
      const { code, message } = errorOf(await place.ask('/', { url }));
      assert.deepEqual([code, message.includes('--reach')], [-32600, true], url);
    }
    const port = new URL(place.base).port;
    assert.equal(resultOf(await place.ask('/', { url: `http://localhost:${port}/` }))['status'], 200);
    assert.equal(resultOf(await place.ask('/', { url: `http://[::ffff:127.0.0.1]:${port}/` }))['status'], 200);
  });

  test('are refused altogether with --no-http, and nothing about them is announced', async () => {
    await using server = await SluiceServer.start('websocket', ['--no-http']);
    await using peer = await overWebSocket(server.url);
    const { environmentInfo } = resultOf(await peer.greet());
    const { capabilities } = environmentInfo as { capabilities: Record<string, boolean> };
    assert.deepEqual(
      Object.keys(capabilities).filter((name) => /http|Config/.test(name)),
      [],
    );
    const { code, message } = errorOf(
      await peer.request('http/request', { method: 'GET', url: 'http://127.0.0.1/', requestId: 'r' }),
    );
    assert.deepEqual([code, message.includes('--no-http')], [-32600, true]);
  });
});
