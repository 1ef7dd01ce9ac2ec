// Addresses as values: where a server listens, where a client connects. Parses and prints them; opens nothing.

export interface StdioEndpoint {
  readonly kind: 'stdio';
}

export interface WebSocketEndpoint {
  readonly kind: 'websocket';
  readonly isSecure: boolean;
  /** An IP address, IPv6 without brackets; for clients also a host name. */
  readonly host: string;
  /** 0 lets the system choose a port; only for listening. */
  readonly port: number;
}

export interface UnixEndpoint {
  readonly kind: 'unix';
  /** Absolute. */
  readonly path: string;
}

export type ListenEndpoint = StdioEndpoint | WebSocketEndpoint | UnixEndpoint;
export type ConnectEndpoint = WebSocketEndpoint | UnixEndpoint;

/** Thrown for an address that is malformed, refused, or cannot be listened on. The message never repeats a secret. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
}

/** Longest path in bytes: Linux has room for 108, including the terminating NUL. Node silently truncates longer ones. */
export const longestUnixPathBytes = 107;

/** Accepts only IP addresses, so that a server never listens on an address that a name happens to resolve to. Throws an EndpointError. */
export function parseListenUrl(url: string): ListenEndpoint {
  const use: Use = { name: 'listen', forms: 'ws://IP:PORT, wss://IP:PORT, unix:///PATH or stdio' };
  if (url === 'stdio' || url === 'stdio://') return { kind: 'stdio' };
  const { scheme, rest } = split(url, use);
  if (scheme === 'unix') return unixEndpoint(url, rest, use);
  const { host = '', port = -1 } = authorityOf(rest);
  const address = ipAddress(host);
  if (address === undefined || port < 0 || port > highestPort) {
    throw invalid(url, use, 'expected an IP address and a port, as in ws://127.0.0.1:4500 or ws://[::1]:4500');
  }
  return { kind: 'websocket', isSecure: scheme === 'wss', host: address, port };
}

/** Also accepts host names; the port defaults to that of the scheme. Throws an EndpointError. */
export function parseConnectUrl(url: string): ConnectEndpoint {
  const use: Use = { name: 'server', forms: 'ws://HOST:PORT, wss://HOST:PORT or unix:///PATH' };
  const { scheme, rest } = split(url, use);
  if (scheme === 'unix') return unixEndpoint(url, rest, use);
  const { host = '', port = scheme === 'wss' ? 443 : 80 } = authorityOf(rest);
  const address = ipAddress(host) ?? hostName(host);
  if (address === undefined || port < 1 || port > highestPort) {
    throw invalid(url, use, 'expected a host and optionally a port, as in ws://127.0.0.1:4500 or wss://example.com');
  }
  return { kind: 'websocket', isSecure: scheme === 'wss', host: address, port };
}

/** The parsers read the result back as the same endpoint. */
export function formatEndpoint(endpoint: ListenEndpoint): string {
  switch (endpoint.kind) {
    case 'stdio':
      return 'stdio';
    case 'unix':
      return `unix://${endpoint.path.replaceAll(/[%?#]/g, encodeURIComponent)}`;
    case 'websocket': {
      const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
      return `${endpoint.isSecure ? 'wss' : 'ws'}://${host}:${endpoint.port}`;
    }
  }
}

/**
 * Who can connect: only the user who runs the server, every program on its machine, or other machines too. `machine` means 127.0.0.0/8,
 * also in its IPv6-mapped form, and ::1. A name is not looked up and counts as `network`.
 */
export function reachOf(endpoint: ListenEndpoint): 'user' | 'machine' | 'network' {
  switch (endpoint.kind) {
    case 'stdio':
    case 'unix': // mode 0600
      return 'user';
    case 'websocket': {
      const address = usualSpelling(endpoint.host);
      return address === '::1' || address?.startsWith('127.') === true ? 'machine' : 'network';
    }
  }
}

/**
 * The canonical spelling of an IP address, IPv6 without brackets; undefined for anything else, including names. An IPv4-mapped IPv6
 * address (::ffff:127.0.0.1) becomes the IPv4 address, because binding or connecting to one means the other.
 */
export function usualSpelling(address: string): string | undefined {
  if (ipv4.test(address)) return address;
  const shortest = shortestIpv6(address);
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(shortest ?? '') ?? [];
  if (high === undefined || low === undefined) return shortest;
  return [high, low].flatMap((digits) => [parseInt(digits, 16) >> 8, parseInt(digits, 16) & 0xff]).join('.');
}

const highestPort = 65_535;
const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** What an address is for, in the words of the error messages. */
interface Use {
  readonly name: 'listen' | 'server';
  readonly forms: string;
}

function split(url: string, use: Use): { readonly scheme: 'ws' | 'wss' | 'unix'; readonly rest: string } {
  const [, scheme, rest = ''] = /^(wss?|unix):\/\/(.*)$/s.exec(url) ?? [];
  if (scheme !== 'ws' && scheme !== 'wss' && scheme !== 'unix') {
    throw new EndpointError(`unsupported ${use.name} URL "${withoutSecrets(url)}"; expected ${use.forms}`);
  }
  if (/[?#]/.test(rest)) throw invalid(url, use, 'expected no query and no fragment; a token belongs in a header');
  if (scheme !== 'unix' && rest.includes('@')) {
    throw invalid(url, use, 'expected no user and no password; a token belongs in a header');
  }
  return { scheme, rest };
}

function authorityOf(rest: string): { readonly host?: string; readonly port?: number } {
  const [, host, port] = /^(\[[^\]]*\]|[^:/[\]]+)(?::(\d{1,5}))?\/?$/.exec(rest) ?? [];
  if (host === undefined) return {};
  return port === undefined ? { host } : { host, port: Number(port) };
}

/** Reads the host of a URL, where exactly IPv6 addresses are in brackets. */
function ipAddress(host: string): string | undefined {
  const [, inBrackets] = /^\[(.*:.*)\]$/.exec(host) ?? [];
  if (inBrackets !== undefined) return usualSpelling(inBrackets);
  return ipv4.test(host) ? host : undefined;
}

function shortestIpv6(address: string): string | undefined {
  if (!address.includes(':')) return undefined;
  try {
    return new URL(`ws://[${address}]`).hostname.slice(1, -1);
  } catch {
    return undefined; // the URL parser decides what is valid IPv6
  }
}

/** Rejects names that end in a number, such as 127.1: programs disagree on which address they mean. */
function hostName(host: string): string | undefined {
  const labels = host.toLowerCase().split('.');
  if (/^(?:\d+|0x[\da-f]*)$/.test(labels.at(-1) ?? '')) return undefined;
  return labels.every((label) => /^[a-z\d_](?:[a-z\d_-]*[a-z\d_])?$/.test(label)) ? labels.join('.') : undefined;
}

function unixEndpoint(url: string, rest: string, use: Use): UnixEndpoint {
  const path = percentDecoded(rest);
  if (path === undefined) throw invalid(url, use, 'a literal % in the path must be written as %25');
  if (!/^\/[^\0]*[^\0/]$/.test(path)) {
    throw invalid(url, use, 'expected unix:// and an absolute path, as in unix:///run/sluice.sock');
  }
  const bytes = new TextEncoder().encode(path).length;
  if (bytes <= longestUnixPathBytes) return { kind: 'unix', path };
  throw invalid(url, use, `a socket path may have at most ${longestUnixPathBytes} bytes, this one has ${bytes}`);
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // a URIError, which only a stray % causes
  }
}

function invalid(url: string, use: Use, reason: string): EndpointError {
  return new EndpointError(`invalid ${use.name} URL "${withoutSecrets(url)}"; ${reason}`);
}

/** Removes the user, password, query and fragment, where people put secrets. */
function withoutSecrets(url: string): string {
  return url.replace(/[?#].*$/s, '…').replace(/\/\/.*@/s, '//…@');
}
