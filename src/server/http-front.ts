// What the server says over plain HTTP: is it alive, is it ready, what has it counted. A router from request to answer; connections
// are the listener's business, and so are upgrades.

import type { Answering, HttpAnswer } from '../transport/http-answer.js';
import { listIn, type RequestHead } from '../transport/http-head.js';
import type { Verdict } from './auth/index.js';
import { metricsContentType } from './metrics.js';
import { version } from './version.js';

export interface FrontRequest extends RequestHead {
  /** What the gate said. A missing token closes only what needs one; every other refusal closes everything. */
  readonly verdict: Verdict;
}

export interface FrontState {
  readonly phase: 'ready' | 'draining';
  readonly metricsAccess: Access;
  readonly metricsText: () => string;
}

/** `open`: anybody the gate would let through but for the token. */
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
  if (route === undefined) return answer(404, 'not found; there is /healthz, /readyz, /metrics, and a WebSocket at /');
  if (method !== 'GET' && method !== 'HEAD') return answer(405, 'only GET and HEAD are allowed', { allow: 'GET, HEAD' });
  if (!verdict.ok && route.access(state) === 'guarded') return refuse(verdict);
  const answered = route.answer(request, state);
  return method === 'HEAD' && 'body' in answered ? { ...answered, body: '' } : answered;
}

const readiness = { ready: answer(200, 'ready'), draining: answer(503, 'draining') };

function showMetrics(text: string): HttpAnswer {
  return answer(200, text, { 'content-type': metricsContentType });
}

/** A person with a browser gets a page; a program that meant to open a WebSocket gets the error that it is. */
function greet({ headers }: FrontRequest): HttpAnswer {
  const isBrowser = listIn(headers['accept']).some((type) => /^text\/html\s*(?:;|$)/i.test(type));
  if (!isBrowser) return answer(400, 'this is a WebSocket; connect to it with ws:// or wss://', { vary: 'accept' });
  const isKnown = listIn(headers['if-none-match']).includes(pageHeaders.etag);
  return isKnown ? { status: 304, headers: pageHeaders, body: '' } : answer(200, page, pageHeaders);
}

/** The page loads nothing, runs nothing, and is shown in no frame. It holds nothing of the request, and changes with the version only. */
const pageHeaders = {
  'cache-control': 'private, no-cache', // a browser may keep it, and asks every time, so that the gate decides every time
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
(<code>wss://</code> when the page came over https), or <code>connect()</code> of the <code>sluice</code> package.</p>
<p>The documentation is in the <code>docs</code> folder of the <code>sluice</code> package; <code>sluice help</code> explains every command.</p>
</html>
`;

/** Closes the connection: nothing that comes behind a refused request is answered. */
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
