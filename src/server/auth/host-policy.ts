// Which host names a server accepts. An attacker's page can make its own domain name resolve to this machine (DNS rebinding);
// the Host header then contains that name, which is not one of ours.

import { isIP } from 'node:net';
import { type WebSocketEndpoint, reachOf, usualSpelling } from '../../transport/endpoint.js';

interface Authority {
  /** Lower case; IPv6 addresses in brackets and in their shortest form. */
  readonly name: string;
  readonly port: number | undefined;
}

/** Accepts "example.com", which allows every port, and "example.com:8443". Throws for anything else. */
export function parseAllowedHost(host: string): Authority {
  const authority = parseAuthority(host);
  if (authority !== undefined) return authority;
  throw new Error(`an allowed host must be a name or an IP address, with or without a port, as in "example.com"; got "${host}"`);
}

/** Describes what is wrong with a Host header; undefined when it is acceptable. */
export function problemWithHost(header: string, bind: WebSocketEndpoint, allowed: readonly Authority[]): string | undefined {
  const authority = parseAuthority(header);
  if (authority === undefined) return 'the Host header is malformed';
  const asked = { name: authority.name, port: authority.port ?? (bind.isSecure ? 443 : 80) };
  if (allowed.some(({ name, port }) => name === asked.name && (port ?? asked.port) === asked.port)) return undefined;
  // Any port is accepted: a forwarded port differs from ours, and no page can make one of our addresses point to its own server.
  if (isOurName(asked.name, bind)) return undefined;
  return `this server does not accept the host "${header}"; to allow it, start the server with --allow-host ${header}`;
}

/** DNS cannot redirect an IP address or "localhost", so when all interfaces are bound, each of them is ours. */
function isOurName(name: string, bind: WebSocketEndpoint): boolean {
  const bound = canonical(bind.host);
  if (bound === '0.0.0.0' || bound === '[::]') return name === 'localhost' || isIP(unbracketed(name)) !== 0;
  return name === bound || (name === 'localhost' && reachOf(bind) === 'machine');
}

/** Longer than any DNS name with a port. */
const longestHost = 262;

function parseAuthority(text: string): Authority | undefined {
  if (text.length > longestHost) return undefined;
  const { name, port } = /^(?<name>\[[\da-f:.]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?$/i.exec(text)?.groups ?? {};
  if (name === undefined) return undefined;
  const portNumber = port === undefined ? undefined : Number(port);
  if (portNumber !== undefined && portNumber > 65_535) return undefined;
  if (name.startsWith('[') && isIP(unbracketed(name)) !== 6) return undefined;
  return { name: canonical(unbracketed(name)), port: portNumber };
}

function canonical(host: string): string {
  const address = usualSpelling(host) ?? host.toLowerCase();
  return address.includes(':') ? `[${address}]` : address;
}

function unbracketed(name: string): string {
  return name.replace(/^\[|\]$/g, '');
}
