// What the server answers over plain HTTP.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Verdict } from '#src/server/auth/index.js';
import { type FrontState, answerHttp } from '#src/server/http-front.js';
import type { HttpAnswer } from '#src/transport/http-answer.js';

const admitted: Verdict = { ok: true, identity: { subject: 'anybody' }, subprotocol: undefined };
const tokenless: Verdict = { ok: false, status: 401, text: 'a token is required', headers: { 'www-authenticate': 'Bearer' } };
const foreign: Verdict = { ok: false, status: 403, text: 'requests from web pages are refused', headers: {} };

const ready: FrontState = { phase: 'ready', metricsAccess: 'guarded', metricsText: () => 'sluice_connections 1\n' };

interface Given extends Partial<FrontState> {
  readonly method?: string;
  readonly verdict?: Verdict;
  readonly accept?: string | readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

function ask(url: string, { method = 'GET', verdict = admitted, accept, headers, ...state }: Given = {}): HttpAnswer {
  const answer = answerHttp({ method, url, headers: { accept, ...headers }, verdict }, { ...ready, ...state });
  return answer instanceof Promise ? assert.fail('expected a synchronous answer') : answer;
}

/** The start of the Accept header of Firefox and Chromium. */
const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const shown = ({ status, body }: HttpAnswer) => [status, body];

describe('over plain HTTP', () => {
  test('the server is alive, and ready until it drains', () => {
    assert.deepEqual(shown(ask('/healthz')), [200, 'ok']);
    assert.deepEqual(shown(ask('/healthz', { phase: 'draining' })), [200, 'ok']);
    assert.deepEqual(shown(ask('/readyz')), [200, 'ready']);
    assert.deepEqual(shown(ask('/readyz?probe=1', { phase: 'draining' })), [503, 'draining']);
  });

  test('health checks need no token; metrics do unless they are open', () => {
    assert.deepEqual(
      ['/healthz', '/readyz', '/metrics', '/'].map((url) => ask(url, { verdict: tokenless }).status),
      [200, 200, 401, 401],
    );
    const { status, headers } = ask('/metrics', { verdict: tokenless });
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer']);
    assert.deepEqual(shown(ask('/metrics', { verdict: tokenless, metricsAccess: 'open' })), [200, 'sluice_connections 1\n']);
  });

  test('a web page or a request for another host learns nothing', () => {
    for (const url of ['/healthz', '/readyz', '/metrics', '/', '/nowhere']) {
      assert.deepEqual(shown(ask(url, { verdict: foreign, metricsAccess: 'open' })), [
        403,
        'requests from web pages are refused',
      ]);
    }
  });

  test('metrics have the format that Prometheus reads', () => {
    assert.deepEqual(ask('/metrics'), {
      status: 200,
      headers: {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
        'content-length': '21',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      },
      body: 'sluice_connections 1\n',
    });
  });

  test('HEAD gives the headers of GET without the body', () => {
    for (const url of ['/healthz', '/readyz', '/metrics']) {
      assert.deepEqual(ask(url, { method: 'HEAD' }), { ...ask(url), body: '' });
    }
  });

  test('other methods get the list of allowed ones', () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'get']) {
      const { status, headers } = ask('/readyz', { method });
      assert.deepEqual([status, headers['allow']], [405, 'GET, HEAD'], method);
    }
  });

  test('a browser at the WebSocket gets a page of three sentences that loads nothing and may not be framed', () => {
    const { status, headers, body } = ask('/', { accept: browserAccept });
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.match(headers['content-security-policy'] ?? '', /default-src 'none'.*frame-ancestors 'none'/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['content-length'], String(Buffer.byteLength(body)));
    assert.equal(body.match(/<p>/g)?.length, 3);
    for (const word of ['Sluice', '--connect', 'docs']) assert.ok(body.includes(word), word);
    assert.doesNotMatch(body, /<script|<style|<link|<img|src=|href=/);
    assert.deepEqual(ask('/?a=1', { accept: ['*/*', 'text/html'] }).body, body);
    assert.deepEqual(ask('/', { method: 'HEAD', accept: browserAccept }), { ...ask('/', { accept: browserAccept }), body: '' });
  });

  test('a browser that has the page cached gets 304, but only if the gate admits it', () => {
    const { headers } = ask('/', { accept: browserAccept });
    assert.equal(headers['cache-control'], 'private, no-cache');
    const known = { accept: browserAccept, headers: { 'if-none-match': `"other", ${headers['etag'] ?? ''}` } };
    assert.deepEqual(shown(ask('/', known)), [304, '']);
    assert.equal(ask('/', { ...known, verdict: tokenless }).status, 401);
    assert.equal(ask('/', { ...known, headers: { 'if-none-match': '"other"' } }).status, 200);
  });

  test('a refusal closes the connection; any other answer keeps it open', () => {
    for (const verdict of [tokenless, foreign]) assert.equal(ask('/', { verdict }).headers['connection'], 'close');
    for (const url of ['/', '/healthz', '/nowhere']) assert.equal(ask(url).headers['connection'], undefined);
  });

  test('the page is refused wherever the gate refuses', () => {
    assert.equal(ask('/', { accept: browserAccept, verdict: tokenless }).status, 401);
    assert.equal(ask('/', { accept: browserAccept, verdict: foreign }).status, 403);
  });

  test('a program that requests the WebSocket path gets an explanation, and other paths do not exist', () => {
    for (const accept of [undefined, '*/*', 'application/json', 'text/htmlx', 'x-text/html']) {
      assert.deepEqual(shown(ask('/', accept === undefined ? {} : { accept })), [
        400,
        'this is a WebSocket endpoint; connect to it with ws:// or wss://',
      ]);
    }
    for (const url of ['/nowhere', '/healthz/', '/HEALTHZ', '//healthz', '', '*']) assert.equal(ask(url).status, 404, url);
  });

  test('every answer is plain text, is not cached and forbids content sniffing', () => {
    for (const answer of [ask('/healthz'), ask('/nowhere'), ask('/', { verdict: foreign }), ask('/readyz', { method: 'POST' })]) {
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      assert.match(answer.headers['content-type'] ?? '', /^text\/plain/);
      assert.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.body)));
    }
  });
});
