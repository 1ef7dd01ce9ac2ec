// Sends an HTTP request from this machine and follows redirects. Every hop is judged by the network rule.

import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type LookupFunction, isIPv6 } from 'node:net';
import { execError } from '../../protocol/index.js';
import { type OutgoingRequest, isHttp, rawHeaders, redirected } from './http-message.js';
import { type NetworkRule, resolveAllowed } from './network-rule.js';

/** Redirects that are followed: Codex's limit. */
const mostRedirects = 10;

/** The connections of one caller, kept for its next requests. */
export class HttpConnections {
  readonly http = new HttpAgent({ keepAlive: true });
  readonly https = new HttpsAgent({ keepAlive: true });

  close(): void {
    this.http.destroy();
    this.https.destroy();
  }
}

export interface ExchangeOptions {
  readonly connections: HttpConnections;
  readonly rule: NetworkRule;
  readonly redirects: 'follow' | 'stop';
  /** Ends the exchange, the body included. */
  readonly signal: AbortSignal;
}

/** Resolves with the head of the response. The caller reads the body, or destroys it. */
export async function exchange(first: OutgoingRequest, options: ExchangeOptions): Promise<IncomingMessage> {
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    const response = await send(request, options);
    const next = options.redirects === 'follow' ? redirected(request, response) : undefined;
    if (next === undefined) return response;
    response.destroy();
    if (!isHttp(next.url)) throw failed(`redirect target uses unsupported URL scheme: ${next.url.protocol.slice(0, -1)}`);
    if (redirects === mostRedirects) throw failed('too many redirects');
    request = next;
  }
}

async function send(outgoing: OutgoingRequest, { connections, rule, signal }: ExchangeOptions): Promise<IncomingMessage> {
  const { url, method, body } = outgoing;
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  const addresses = await resolveAllowed({ host, port }, rule);
  return new Promise((resolve, reject) => {
    const options = {
      agent: isTls ? connections.https : connections.http,
      host,
      port,
      path: `${url.pathname}${url.search}`,
      method,
      headers: rawHeaders(outgoing),
      lookup: pinned(addresses),
      signal,
    };
    const sent = isTls ? httpsRequest(options) : httpRequest(options);
    sent.once('response', resolve);
    // An error after the response is one of its body, which the reader of the body gets as well.
    sent.on('error', (error) => reject(sendFailure(signal.aborted ? signal.reason : error, url)));
    sent.end(body);
  });
}

/** Resolves every name to the addresses that were judged. */
function pinned(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, { all }, callback) => {
    const [first] = found;
    if (first === undefined) callback(new Error('the name has no address'), '');
    else if (all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
}

/** Codex's words, with the reason. */
function sendFailure(error: unknown, { origin, pathname }: URL): Error {
  const reason = error instanceof Error && error.message !== '' ? error.message : 'no connection'; // without one if every address failed
  const errno = error instanceof Error && 'code' in error && typeof error.code === 'string' ? { errno: error.code } : {};
  const problem = `http/request failed: error sending request for url (${origin}${pathname}): ${reason}`;
  return execError('networkFailed', { problem, ...errno }, { cause: error });
}

function failed(reason: string): Error {
  return execError('networkFailed', { problem: `http/request failed: ${reason}` });
}
