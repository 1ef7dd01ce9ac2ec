// The plain HTTP endpoints: health, readiness, metrics and a page for browsers. A pure router from request to answer; the listener
// handles connections and upgrades.

import type { Answering, HttpAnswer } from '../transport/http-answer.js';
import { listIn, type RequestHead } from '../transport/http-head.js';
import type { Verdict } from './auth/index.js';
import { metricsContentType } from './metrics.js';
import { version } from './version.js';

export interface FrontRequest extends RequestHead {
  /** The gate's decision. A missing token (401) blocks only guarded routes; any other refusal blocks all of them. */
  readonly verdict: Verdict;
}

export interface FrontState {
  readonly phase: 'ready' | 'draining';
  readonly metricsAccess: Access;
  readonly metricsText: () => string;
}

/** `open`: no token is needed, but the gate's other checks still apply. */
type Access = 'guarded' | 'open';

interface Route {
  readonly access: (state: FrontState) => Access;
  readonly answer: (request: FrontRequest, state: FrontState) => Answering;
}

const routes = new Map<string, Route>([
  ['/', { access: () => 'guarded', answer: greet }],
  ['/healthz', { access: () => 'open', answer: () => answer(200, 'ok') }],
  ['/readyz', { access: () => 'open', answer: (_, { phase }) => readiness[phase] }],
  ['/metrics', { access: ({ metricsAccess }) => metricsAccess, answer: (_, { metricsText }) => showMetrics(metricsText()) }],
]);

export function answerHttp(request: FrontRequest, state: FrontState): Answering {
  const { method, url, verdict } = request;
  if (!verdict.ok && verdict.status !== 401) return refuse(verdict);
  const route = routes.get(url.split('?', 1)[0] ?? '');
  if (route === undefined) return answer(404, 'not found; available are /healthz, /readyz, /metrics, and a WebSocket at /');
  if (method !== 'GET' && method !== 'HEAD') return answer(405, 'only GET and HEAD are allowed', { allow: 'GET, HEAD' });
  if (!verdict.ok && route.access(state) === 'guarded') return refuse(verdict);
  const answered = route.answer(request, state);
  return method === 'HEAD' && 'body' in answered ? { ...answered, body: '' } : answered;
}

const readiness = { ready: answer(200, 'ready'), draining: answer(503, 'draining') };

function showMetrics(text: string): HttpAnswer {
  return answer(200, text, { 'content-type': metricsContentType });
}

/** A browser gets a page; a program that meant to open a WebSocket gets an error. */
function greet({ headers }: FrontRequest): HttpAnswer {
  const isBrowser = listIn(headers['accept']).some((type) => /^text\/html\s*(?:;|$)/i.test(type));
  if (!isBrowser) return answer(400, 'this is a WebSocket endpoint; connect to it with ws:// or wss://', { vary: 'accept' });
  const isKnown = listIn(headers['if-none-match']).includes(pageHeaders.etag);
  return isKnown ? { status: 304, headers: pageHeaders, body: '' } : answer(200, page, pageHeaders);
}

/** The page loads nothing, runs nothing and cannot be framed. It contains nothing from the request, and changes only with the version. */
const pageHeaders = {
  'cache-control': 'private, no-cache', // a browser may cache it but must revalidate, so that the gate checks every request
  etag: `"${version}"`,
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
(<code>wss://</code> if the page was loaded over https), or <code>connect()</code> from the <code>sluice</code> package.</p>
<p>The documentation is in the <code>docs</code> folder of the <code>sluice</code> package; <code>sluice help</code> explains every command.</p>
</html>
`;

/** Closes the connection, so that requests pipelined after a refused one are not answered. */
function refuse({ status, text, headers }: Extract<Verdict, { ok: false }>): HttpAnswer {
  return answer(status, text, { ...headers, connection: 'close' });
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
