// What the server announces to Codex's client, which does without whatever is not announced.

import type { Machine } from './machine/machine.js';

/** The names are Codex's. Nothing is announced that needs a sandbox. */
export function announcedCapabilities({ files, network }: Pick<Machine, 'files' | 'network'>): Readonly<Record<string, boolean>> {
  const hasHttp = network.http !== 'off';
  const hasFiles = files.access !== 'none';
  return {
    ...(hasHttp ? { httpHeaderEnvVars: true } : {}),
    ...(hasFiles ? { fsWatchMissing: true, capabilityDiscoveryV2: true } : {}),
    ...(hasFiles && files.access !== 'read' ? { fileWriteStreaming: true } : {}),
    // The client reaches the MCP servers that it finds there through http/request.
    ...(hasHttp && hasFiles ? { environmentConfigRead: true } : {}),
  };
}
