// Refuses to listen on the network without credentials.

import { type ListenEndpoint, formatEndpoint, reachOf } from '../../transport/endpoint.js';
import type { CredentialSource } from './credentials.js';

/** Which endpoints may omit credentials, by reach. A new reach does not compile until it is decided here. */
const mayOmitCredentials = { user: true, machine: true, network: false } as const;

/**
 * Throws when other machines could connect without credentials, with a one-line message that names the flags to use.
 * Loopback addresses, Unix sockets and stdio need no credentials.
 */
export function requireSafeBind(endpoint: ListenEndpoint, credentials: { readonly kind: CredentialSource['kind'] }): void {
  if (credentials.kind !== 'none' || mayOmitCredentials[reachOf(endpoint)]) return;
  const loopback = 'host' in endpoint ? { ...endpoint, host: endpoint.host.includes(':') ? '::1' : '127.0.0.1' } : endpoint;
  throw new Error(
    `refusing to listen on ${formatEndpoint(endpoint)} without credentials, because other machines can reach it; ` +
      'add --token-file, --token-sha256, --jwt-secret-file or --jwt-public-key-file, ' +
      `or listen on ${formatEndpoint(loopback)}`,
  );
}
