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
  /** Names in lower case. A header that came more than once is a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** What the gate said. A missing token closes only what needs one; every other refusal closes everything. */
  readonly verdict: Verdict;
}

export interface FrontState {
  readonly phase: 'ready' | 'draining';
  /** `open`: anybody the gate would let through but for the token may read the metrics. */
  readonly metricsAccess: 'guarded' | 'open';
  readonly metricsText: () => string;
}

export function answerHttp(request: FrontRequest, state: FrontState): HttpAnswer {
  const { method, url, verdict } = request;
  if (!verdict.ok && verdict.status !== 401) return answer(verdict.status, verdict.text, verdict.headers);
  const respond = routeTo(url.split('?', 1)[0] ?? '');
  if (respond === undefined) return answer(404, 'not found; there is /healthz, /readyz, /metrics, and a WebSocket at /');
  if (method !== 'GET' && method !== 'HEAD') return answer(405, 'only GET and HEAD are allowed', { allow: 'GET, HEAD' });
  const answered = respond(request, state);
  return method === 'HEAD' ? { ...answered, body: '' } : answered;
}

type Route = (request: FrontRequest, state: FrontState) => HttpAnswer;

function routeTo(path: string): Route | undefined {
  switch (path) {
    case '/':
      return ({ headers, verdict }) => (verdict.ok ? greet(headers['accept']) : refuse(verdict));
    case '/healthz':
      return () => answer(200, 'ok');
    case '/readyz':
      return (_, { phase }) => (phase === 'ready' ? answer(200, 'ready') : answer(503, 'draining'));
    case '/metrics':
      return ({ verdict }, { metricsAccess, metricsText }) =>
        verdict.ok || metricsAccess === 'open'
          ? answer(200, metricsText(), { 'content-type': metricsContentType })
          : refuse(verdict);
    default:
      return undefined;
  }
}

/** A person with a browser gets a page; a program that meant to open a WebSocket gets the error that it is. */
function greet(accept: string | readonly string[] | undefined): HttpAnswer {
  const types = [accept ?? []].flat().flatMap((line) => line.split(','));
  const isBrowser = types.some((type) => /^\s*text\/html\s*(?:;|$)/i.test(type));
  return isBrowser
    ? answer(200, page, pageHeaders)
    : answer(400, 'this is a WebSocket; connect to it with ws:// or wss://', { vary: 'accept' });
}

/** The page loads nothing, runs nothing, and is shown in no frame. It holds nothing of the request. */
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  vary: 'accept',
};

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sluice</title>
<h1>Sluice</h1>
<p>This is a Sluice server: it runs processes for programs that connect to this address over a WebSocket.</p>
<p>To run a command here, use <code>sluice exec --connect ws://HOST:PORT -- COMMAND</code> with the address of this page
(<code>wss://</code> when the page came over https), or <code>connect()</code> of the <code>sluice</code> package.</p>
<p>The documentation is in the <code>docs</code> folder of the <code>sluice</code> package; <code>sluice help</code> explains every command.</p>
</html>
`;

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
