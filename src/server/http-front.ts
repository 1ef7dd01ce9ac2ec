// What the server says over plain HTTP: is it alive, is it ready, what has it counted. A function from request to answer; sockets
// are the listener's business, and so are upgrades.

import { Buffer } from 'node:buffer';
import type { HttpAnswer } from '../transport/http-answer.js';
import type { Verdict } from './auth/index.js';
import { metricsContentType } from './metrics.js';

export interface FrontRequest {
  readonly method: string;
  /** The request target; what follows a "?" is ignored. */
  readonly url: string;
  /** What the gate said. A missing token closes only what needs one; every other refusal closes everything. */
  readonly verdict: Verdict;
}

export interface FrontState {
  readonly phase: 'ready' | 'draining';
  /** `open`: anybody the gate would let through but for the token may read the metrics. */
  readonly metricsAccess: 'guarded' | 'open';
  readonly metricsText: () => string;
}

export function answerHttp({ method, url, verdict }: FrontRequest, state: FrontState): HttpAnswer {
  if (!verdict.ok && verdict.status !== 401) return answer(verdict.status, verdict.text, verdict.headers);
  const respond = routeTo(url.split('?', 1)[0] ?? '');
  if (respond === undefined) return answer(404, 'not found; there is /healthz, /readyz, /metrics, and a WebSocket at /');
  if (method !== 'GET' && method !== 'HEAD') return answer(405, 'only GET and HEAD are allowed', { allow: 'GET, HEAD' });
  const answered = respond(verdict, state);
  return method === 'HEAD' ? { ...answered, body: '' } : answered;
}

type Route = (verdict: Verdict, state: FrontState) => HttpAnswer;

function routeTo(path: string): Route | undefined {
  switch (path) {
    case '/':
      return (verdict) => (verdict.ok ? answer(400, 'this is a WebSocket; connect to it with ws:// or wss://') : refuse(verdict));
    case '/healthz':
      return () => answer(200, 'ok');
    case '/readyz':
      return (_, { phase }) => (phase === 'ready' ? answer(200, 'ready') : answer(503, 'draining'));
    case '/metrics':
      return (verdict, { metricsAccess, metricsText }) =>
        verdict.ok || metricsAccess === 'open'
          ? answer(200, metricsText(), { 'content-type': metricsContentType })
          : refuse(verdict);
    default:
      return undefined;
  }
}

function refuse(refusal: Extract<Verdict, { ok: false }>): HttpAnswer {
  return answer(refusal.status, refusal.text, refusal.headers);
}

function answer(status: number, body: string, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  return {
    status,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body,
  };
}
