// Checks every request before it is handled: is it for this host, was it sent by a web page, and which caller sent it.
// Knows headers, not sockets. Its texts never contain any part of a secret.

import { type Clock, systemClock } from '../../base/clock.js';
import { bearerSubprotocolPrefix, subprotocol } from '../../protocol/version.js';
import type { ListenEndpoint } from '../../transport/endpoint.js';
import { listIn } from '../../transport/http-head.js';
import type { Identity } from '../session-table.js';
import { type Credentials, authenticate } from './credentials.js';
import { parseAllowedHost, problemWithHost } from './host-policy.js';

export interface GateOptions {
  readonly credentials: Credentials;
  /** The endpoint the listener is bound to, with its actual port. */
  readonly bind: ListenEndpoint;
  /** Origins of web pages that may connect, exactly as browsers send them. */
  readonly allowedOrigins: readonly string[];
  /** Host names accepted in addition to the bound address; one without a port allows every port. */
  readonly allowedHosts: readonly string[];
  readonly clock?: Clock;
}

/** The relevant part of Node's IncomingMessage: header names are in lower case. */
export interface GateRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly url?: string | undefined;
}

export interface Admission {
  readonly ok: true;
  readonly identity: Identity;
  /** The `Sec-WebSocket-Protocol` to reply with, if the client offered ours. Never the one that carries the token. */
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

/** Names that people use for tokens in URLs. */
const tokenParameter =
  /^(?:(?:access|auth|bearer|id)[-_]?)?(?:token|jwt)$|^(?:auth|authorization|bearer|api[-_]?key|secret|password)$/i;

/** Throws when an allowed origin or host is malformed. */
export function createGate(options: GateOptions): Gate {
  const { credentials, bind, clock = systemClock } = options;
  const origins = new Set(options.allowedOrigins.map(parseAllowedOrigin));
  const hosts = options.allowedHosts.map(parseAllowedHost);

  function authorize({ headers, url = '/' }: GateRequest): Verdict {
    // A web page cannot connect to a Unix socket or stdio; for any other kind the Host header must be checked.
    if (bind.kind !== 'unix' && bind.kind !== 'stdio') {
      const host = single(headers['host']);
      if (host === undefined) return refusal(400, 'one Host header is required');
      const problem = problemWithHost(host, bind, hosts);
      if (problem !== undefined) return refusal(403, problem);
    }
    if (!isOriginAllowed(headers['origin'], origins) || isFromAnotherSite(headers)) {
      return refusal(403, 'requests from web pages are refused; to allow a page, start the server with --allow-origin');
    }
    if (hasTokenInUrl(url)) return refusal(400, 'a token in a URL ends up in logs; send it as "Authorization: Bearer TOKEN"');
    const offer = readOffer(headers['sec-websocket-protocol']);
    if (!offer.ok) return refusal(400, offer.problem);
    const checked = authenticate(credentials, bearerIn(headers['authorization']) ?? offer.token, clock.now());
    return checked.ok ? { ...checked, subprotocol: offer.subprotocol } : refusal(401, checked.problem);
  }

  return { authorize };
}

/** Throws unless it has the form that browsers send: a scheme, a host and optionally a port, in lower case. */
export function parseAllowedOrigin(origin: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*A-Z]+$/.test(origin)) return origin;
  throw new Error(`an allowed origin must be exact, as in "https://example.com" or "http://127.0.0.1:5173"; got "${origin}"`);
}

type HeaderValue = string | readonly string[] | undefined;

function isOriginAllowed(header: HeaderValue, allowed: ReadonlySet<string>): boolean {
  return header === undefined || allowed.has(single(header) ?? '');
}

/** Requests for images, scripts, frames and links have no Origin: a page cannot read the response, but should not get one either. */
function isFromAnotherSite({ origin, 'sec-fetch-site': site }: GateRequest['headers']): boolean {
  return origin === undefined && site !== undefined && !['none', 'same-origin'].includes(single(site) ?? '');
}

/** Looks in the query, and in the user info of an absolute URL. */
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
      problem: `also offer the subprotocol "${subprotocol}", because the server replies with it and never with the token`,
    };
  }
  const encoded = entry.slice(bearerSubprotocolPrefix.length);
  const token = Buffer.from(encoded, 'base64url');
  if (encoded === '' || token.toString('base64url') !== encoded) {
    return { ok: false, problem: `"${bearerSubprotocolPrefix}" must be followed by the token in base64url` };
  }
  return { ok: true, token: token.toString('utf8'), subprotocol };
}

/** A repeated header counts as absent, because proxies and servers disagree about which one applies. */
function single(header: HeaderValue): string | undefined {
  if (typeof header === 'string') return header;
  return header?.length === 1 ? header[0] : undefined;
}

function refusal(status: Refusal['status'], text: string): Refusal {
  return { ok: false, status, text, headers: status === 401 ? { 'www-authenticate': 'Bearer realm="sluice"' } : {} };
}
