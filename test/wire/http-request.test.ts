// HTTP requests that a server makes for its callers: what they send and return, where they may lead, and that none outlives its caller.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';
import { Website, bodyOf, echo } from './website.js';

describe('an HTTP request', () => {
  guardAgainstLeaks();

  test('keeps the order of its headers, and takes values from the server’s variables', async () => {
    await using place = await Website.open(echo, [], { TOKEN: 'secret' });
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
    await using place = await Website.open((_, response) => {
      response.writeHead(200, ['A', 'one', 'a', 'two', 'X', 'caf\u00e9', 'Content-Length', '0']).end();
    });
    const { status, headers } = resultOf(await place.ask('/'));
    const names = (headers as { name: string; value: string }[]).map(({ name, value }) => `${name}: ${value}`);
    assert.deepEqual([status, names.slice(0, 3)], [200, ['a: one', 'a: two', 'content-length: 0']]);
  });

  test('that is malformed, or wants a variable that is absent, empty or secret, is refused', async () => {
    await using place = await Website.open(echo, [], { EMPTY: '', OPENAI_API_KEY: 'k' });
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

  test('fails if no program listens, if no answer comes in time, or if the body is cut', async () => {
    await using place = await Website.open(({ url }, response) => {
      if (url !== '/cut') return;
      response.writeHead(200, { 'content-length': 100 });
      response.write('part', () => response.destroy());
    });
    assert.equal(await place.code({ url: 'http://127.0.0.1:1/' }), -32603);
    assert.equal(await place.code({ timeoutMs: 20 }), -32603);
    assert.equal(errorOf(await place.ask('/cut')).code, -32603);
  });
});

describe('a streamed body', () => {
  guardAgainstLeaks();

  test('follows the reply in numbered parts, the last of which is empty', async () => {
    await using place = await Website.open((_, response) => {
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
    await using place = await Website.open((_, response) => {
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
    await using place = await Website.open(({ url }, response) => {
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
    await using place = await Website.open(({ url }, response) => {
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
    const arrived = new Set<string>();
    const closed = new Set<string>();
    await using place = await Website.open(({ url = '' }, response) => {
      arrived.add(url);
      response.once('close', () => closed.add(url));
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
      await eventually(() => assert.equal(arrived.size, 2));
      assert.deepEqual([...closed], []);
    }
    await eventually(() => assert.deepEqual(closed, new Set(['/stream', '/wait'])));
  });

  test('lead to loopback only, unless the operator opens a host', async () => {
    await using place = await Website.open(echo);
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
