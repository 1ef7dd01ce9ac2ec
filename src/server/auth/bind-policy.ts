// That nobody listens to the network without asking for credentials.

import { type ListenEndpoint, formatEndpoint, isLoopback } from '../../transport/endpoint.js';
import type { CredentialSource } from './credentials.js';

/**
 * Throws, in one line that says which flags to use, when others than this machine's users could connect without credentials.
 * Loopback addresses, Unix sockets and stdio may go without.
 */
export function requireSafeBind(endpoint: ListenEndpoint, credentials: { readonly kind: CredentialSource['kind'] }): void {
  if (endpoint.kind !== 'websocket' || credentials.kind !== 'none' || isLoopback(endpoint)) return;
  const loopback = { ...endpoint, host: endpoint.host.includes(':') ? '::1' : '127.0.0.1' };
  throw new Error(
    `refusing to listen on ${formatEndpoint(endpoint)} without credentials, since other machines can reach it; ` +
      'add --token-file, --token-sha256, --jwt-secret-file or --jwt-public-key-file, ' +
      `or listen on ${formatEndpoint(loopback)}`,
  );
}
