// Who can reach an address, and that nobody listens to the network without asking for credentials.

import { BlockList, isIP } from 'node:net';
import type { CredentialSource } from './credentials.js';

/** What a listener is bound to, or is about to be. */
export type Bind = { readonly kind: 'stdio' } | { readonly kind: 'unix'; readonly path: string } | NetworkBind;

export interface NetworkBind {
  readonly kind: 'websocket';
  readonly scheme: 'ws' | 'wss';
  /** An IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/**
 * Throws, in one line that says which flags to use, when others than this machine's users could connect without credentials.
 * Loopback addresses, Unix sockets and stdio may go without.
 */
export function requireSafeBind(bind: Bind, credentials: { readonly kind: CredentialSource['kind'] }): void {
  if (bind.kind !== 'websocket' || credentials.kind !== 'none' || isLoopback(bind.host)) return;
  const loopback = isIP(bind.host) === 6 ? '[::1]' : '127.0.0.1';
  throw new Error(
    `refusing to listen on ${printBind(bind)} without credentials, since other machines can reach it; ` +
      'add --token-file, --token-sha256, --jwt-secret-file or --jwt-public-key-file, ' +
      `or listen on ${bind.scheme}://${loopback}:${bind.port}`,
  );
}

function printBind({ scheme, host, port }: NetworkBind): string {
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Names are not: what "localhost" means is up to a file. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return false;
  const loopback = new BlockList();
  loopback.addSubnet('127.0.0.0', 8, 'ipv4');
  loopback.addAddress('::1', 'ipv6');
  return loopback.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
