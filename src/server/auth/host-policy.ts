// Which names a server answers to. A page under an attacker's name can make that name point at this machine (DNS rebinding);
// the name is then in the Host header, and it is none of ours.

import { isIP } from 'node:net';
import { type WebSocketEndpoint, reachOf, usualSpelling } from '../../transport/endpoint.js';

interface Authority {
  /** Lower case; IPv6 addresses in brackets and in their shortest form. */
  readonly name: string;
  readonly port: number | undefined;
}

/** Takes "example.com", which stands for every port, and "example.com:8443". Throws when it is neither. */
export function parseAllowedHost(host: string): Authority {
  const authority = parseAuthority(host);
  if (authority !== undefined) return authority;
  throw new Error(`an allowed host must be a name or an IP address, with a port or without, as in "example.com"; got "${host}"`);
}

/** Tells what is wrong with a Host header; undefined when nothing is. */
export function problemWithHost(header: string, bind: WebSocketEndpoint, allowed: readonly Authority[]): string | undefined {
  const authority = parseAuthority(header);
  if (authority === undefined) return 'the Host header is malformed';
  const asked = { name: authority.name, port: authority.port ?? (bind.isSecure ? 443 : 80) };
  if (allowed.some(({ name, port }) => name === asked.name && (port ?? asked.port) === asked.port)) return undefined;
  // Whatever port it names: a forwarded one is none of ours, and no page can make an address of ours mean its own server.
  if (isOurName(asked.name, bind)) return undefined;
  return `this server does not answer to the host "${header}"; if it is meant to, start it with --allow-host ${header}`;
}

/** No name server stands behind an address or "localhost", so where all interfaces are bound each of them is ours. */
function isOurName(name: string, bind: WebSocketEndpoint): boolean {
  const bound = canonical(bind.host);
  if (bound === '0.0.0.0' || bound === '[::]') return name === 'localhost' || isIP(unbracketed(name)) !== 0;
  return name === bound || (name === 'localhost' && reachOf(bind) === 'machine');
}

/** Longer than any name the DNS knows, with a port. */
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
