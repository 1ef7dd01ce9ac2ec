// Decides about a request before anything is done for it: is it for us, does it come from a page, who sent it.
// Knows headers, not sockets. No text it gives ever holds a part of a secret.

import { type Clock, systemClock } from '../../base/clock.js';
import type { ListenEndpoint } from '../../transport/endpoint.js';
import { listIn } from '../../transport/http-head.js';
import type { Identity } from '../session-table.js';
import { type Credentials, authenticate } from './credentials.js';
import { parseAllowedHost, problemWithHost } from './host-policy.js';

export interface GateOptions {
  readonly credentials: Credentials;
  /** What the listener is bound to, with the port it got. */
  readonly bind: ListenEndpoint;
  /** Origins of pages that may connect, exactly as browsers send them. */
  readonly allowedOrigins: readonly string[];
  /** Names besides the bound address that the server answers to; without a port, on every port. */
  readonly allowedHosts: readonly string[];
  readonly clock?: Clock;
}

/** What Node's IncomingMessage has: names of headers in lower case. */
export interface GateRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly url?: string | undefined;
}

export interface Admission {
  readonly ok: true;
  readonly identity: Identity;
  /** To be sent back as `Sec-WebSocket-Protocol`, when the client offered any that is ours. Never the one with the token. */
  readonly subprotocol: string | undefined;
}

export interface Refusal {
  readonly ok: false;
  readonly status: 400 | 401 | 403;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type Verdict = Admission | Refusal;

export interface Gate {
  authorize(request: GateRequest): Verdict;
}

/** What a browser offers, besides the entry with its token; a browser hangs up when none of its offers comes back. */
const subprotocol = 'sluice.v0';

/** Followed by the token in base64url: browsers can set no header but this. */
const bearerSubprotocolPrefix = 'sluice.bearer.';

/** Names under which people put tokens into URLs. */
const tokenParameter =
  /^(?:(?:access|auth|bearer|id)[-_]?)?(?:token|jwt)$|^(?:auth|authorization|bearer|api[-_]?key|secret|password)$/i;

/** Throws when an allowed origin or host is malformed. */
export function createGate(options: GateOptions): Gate {
  const { credentials, bind, clock = systemClock } = options;
  const origins = new Set(options.allowedOrigins.map(parseAllowedOrigin));
  const hosts = options.allowedHosts.map(parseAllowedHost);

  function authorize({ headers, url = '/' }: GateRequest): Verdict {
    // No page can connect to these two, under whatever name; any other kind has to have its Host checked.
    if (bind.kind !== 'unix' && bind.kind !== 'stdio') {
      const host = single(headers['host']);
      if (host === undefined) return refusal(400, 'one Host header is needed');
      const problem = problemWithHost(host, bind, hosts);
      if (problem !== undefined) return refusal(403, problem);
    }
    if (!isOriginAllowed(headers['origin'], origins) || isFromAnotherSite(headers)) {
      return refusal(403, 'requests from web pages are refused; to let a page in, start the server with --allow-origin');
    }
    if (hasTokenInUrl(url)) return refusal(400, 'a token in a URL ends up in logs; send it as "Authorization: Bearer TOKEN"');
    const offer = readOffer(headers['sec-websocket-protocol']);
    if (!offer.ok) return refusal(400, offer.problem);
    const checked = authenticate(credentials, bearerIn(headers['authorization']) ?? offer.token, clock.now());
    return checked.ok ? { ...checked, subprotocol: offer.subprotocol } : refusal(401, checked.problem);
  }

  return { authorize };
}

/** Throws when it is not what a browser would send: a scheme, a host and maybe a port, in lower case. */
export function parseAllowedOrigin(origin: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*A-Z]+$/.test(origin)) return origin;
  throw new Error(`an allowed origin must be exact, as in "https://example.com" or "http://127.0.0.1:5173"; got "${origin}"`);
}

type HeaderValue = string | readonly string[] | undefined;

function isOriginAllowed(header: HeaderValue, allowed: ReadonlySet<string>): boolean {
  return header === undefined || allowed.has(single(header) ?? '');
}

/** Images, scripts, frames and links come without an Origin: a page cannot read the answer, but it should not get one either. */
function isFromAnotherSite({ origin, 'sec-fetch-site': site }: GateRequest['headers']): boolean {
  return origin === undefined && site !== undefined && !['none', 'same-origin'].includes(single(site) ?? '');
}

/** In the query, or before the host of a request that names one. */
function hasTokenInUrl(url: string): boolean {
  const [address = '', ...query] = url.split('?');
  const names = [...new URLSearchParams(query.join('?')).keys()];
  return /^[^/]*\/\/[^/]*@/.test(address) || names.some((name) => tokenParameter.test(name.trim()));
}

function bearerIn(header: HeaderValue): string | undefined {
  return /^bearer +(?<token>[\x21-\x7e]+) *$/i.exec(single(header) ?? '')?.groups?.['token'];
}

type Offer =
  | { readonly ok: true; readonly token: string | undefined; readonly subprotocol: string | undefined }
  | { readonly ok: false; readonly problem: string };

function readOffer(header: HeaderValue): Offer {
  const entries = listIn(header);
  const isOffered = entries.includes(subprotocol);
  const [entry, ...others] = entries.filter((candidate) => candidate.startsWith(bearerSubprotocolPrefix));
  if (entry === undefined) return { ok: true, token: undefined, subprotocol: isOffered ? subprotocol : undefined };
  if (others.length > 0) return { ok: false, problem: `only one subprotocol may begin with "${bearerSubprotocolPrefix}"` };
  if (!isOffered) {
    return {
      ok: false,
      problem: `offer the subprotocol "${subprotocol}" too: it is what the server sends back, never the token`,
    };
  }
  const encoded = entry.slice(bearerSubprotocolPrefix.length);
  const token = Buffer.from(encoded, 'base64url');
  if (encoded === '' || token.toString('base64url') !== encoded) {
    return { ok: false, problem: `"${bearerSubprotocolPrefix}" must be followed by the token in base64url` };
  }
  return { ok: true, token: token.toString('utf8'), subprotocol };
}

/** Two of a header that may come once is none: proxies and servers disagree about which one counts. */
function single(header: HeaderValue): string | undefined {
  if (typeof header === 'string') return header;
  return header?.length === 1 ? header[0] : undefined;
}

function refusal(status: Refusal['status'], text: string): Refusal {
  return { ok: false, status, text, headers: status === 401 ? { 'www-authenticate': 'Bearer realm="sluice"' } : {} };
}
