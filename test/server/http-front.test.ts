// What the server says over plain HTTP.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Verdict } from '#src/server/auth/index.js';
import { type FrontState, answerHttp } from '#src/server/http-front.js';
import type { HttpAnswer } from '#src/transport/http-answer.js';

const admitted: Verdict = { ok: true, identity: { subject: 'anybody' }, subprotocol: undefined };
const tokenless: Verdict = { ok: false, status: 401, text: 'a token is needed', headers: { 'www-authenticate': 'Bearer' } };
const foreign: Verdict = { ok: false, status: 403, text: 'requests from web pages are refused', headers: {} };

const ready: FrontState = { phase: 'ready', metricsAccess: 'guarded', metricsText: () => 'sluice_connections 1\n' };

interface Given extends Partial<FrontState> {
  readonly method?: string;
  readonly verdict?: Verdict;
}

function ask(url: string, { method = 'GET', verdict = admitted, ...state }: Given = {}): HttpAnswer {
  return answerHttp({ method, url, verdict }, { ...ready, ...state });
}

const shown = ({ status, body }: HttpAnswer) => [status, body];

describe('over plain HTTP', () => {
  test('the server is alive, and ready until it drains', () => {
    assert.deepEqual(shown(ask('/healthz')), [200, 'ok']);
    assert.deepEqual(shown(ask('/healthz', { phase: 'draining' })), [200, 'ok']);
    assert.deepEqual(shown(ask('/readyz')), [200, 'ready']);
    assert.deepEqual(shown(ask('/readyz?probe=1', { phase: 'draining' })), [503, 'draining']);
  });

  test('health needs no token, metrics do unless they are open', () => {
    assert.deepEqual(
      ['/healthz', '/readyz', '/metrics', '/'].map((url) => ask(url, { verdict: tokenless }).status),
      [200, 200, 401, 401],
    );
    const { status, headers } = ask('/metrics', { verdict: tokenless });
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer']);
    assert.deepEqual(shown(ask('/metrics', { verdict: tokenless, metricsAccess: 'open' })), [200, 'sluice_connections 1\n']);
  });

  test('nothing is said to a web page or to a foreign host', () => {
    for (const url of ['/healthz', '/readyz', '/metrics', '/', '/nowhere']) {
      assert.deepEqual(shown(ask(url, { verdict: foreign, metricsAccess: 'open' })), [
        403,
        'requests from web pages are refused',
      ]);
    }
  });

  test('metrics come as Prometheus reads them', () => {
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

  test('other methods are told which are allowed', () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'get']) {
      const { status, headers } = ask('/readyz', { method });
      assert.deepEqual([status, headers['allow']], [405, 'GET, HEAD'], method);
    }
  });

  test('the WebSocket says what it is, and other paths do not exist', () => {
    assert.equal(ask('/').status, 400);
    for (const url of ['/nowhere', '/healthz/', '/HEALTHZ', '//healthz', '', '*']) assert.equal(ask(url).status, 404, url);
  });

  test('every answer is plain, uncached and not to be guessed at', () => {
    for (const answer of [ask('/healthz'), ask('/nowhere'), ask('/', { verdict: foreign }), ask('/readyz', { method: 'POST' })]) {
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      assert.match(answer.headers['content-type'] ?? '', /^text\/plain/);
      assert.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.body)));
    }
  });
});
