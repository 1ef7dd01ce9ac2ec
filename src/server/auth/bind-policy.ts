// That nobody listens to the network without asking for credentials.

import { type ListenEndpoint, formatEndpoint, reachOf } from '../../transport/endpoint.js';
import type { CredentialSource } from './credentials.js';

/** Which reach may go without credentials. Another one does not compile until that is decided here. */
const goesWithout = { user: true, machine: true, network: false } as const;

/**
 * Throws, in one line that says which flags to use, when others than this machine's users could connect without credentials.
 * Loopback addresses, Unix sockets and stdio may go without.
 */
export function requireSafeBind(endpoint: ListenEndpoint, credentials: { readonly kind: CredentialSource['kind'] }): void {
  if (credentials.kind !== 'none' || goesWithout[reachOf(endpoint)]) return;
  const loopback = 'host' in endpoint ? { ...endpoint, host: endpoint.host.includes(':') ? '::1' : '127.0.0.1' } : endpoint;
  throw new Error(
    `refusing to listen on ${formatEndpoint(endpoint)} without credentials, since other machines can reach it; ` +
      'add --token-file, --token-sha256, --jwt-secret-file or --jwt-public-key-file, ' +
      `or listen on ${formatEndpoint(loopback)}`,
  );
}
