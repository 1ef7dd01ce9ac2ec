// How a contract suite gets its client. The behaviour must not depend on the kind of connection.

import type { Client } from '#src/client/index.js';
import type { ServerOptions } from '#src/server/index.js';

export interface Connector {
  readonly name: string;
  /** Each call starts a separate server; disposing the client ends it. */
  connect(options?: Pick<ServerOptions, 'limits' | 'policy'>): Promise<Client>;
  /** The portable backend gets less help from the operating system; docs/architecture.md lists the differences. */
  readonly backend: 'linux' | 'portable';
}

/** Only the variables that the commands of the suite need. */
export const env: Readonly<Record<string, string>> = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C.UTF-8' };

export const closedPipe = { kind: 'pipe', stdin: 'closed' } as const;
export const openPipe = { kind: 'pipe', stdin: 'open' } as const;
export const terminal = { kind: 'pty', rows: 24, cols: 80 } as const;

/** Both kinds of I/O, for behaviour that must be the same on both. */
export const bothKinds = [
  ['pipes', closedPipe],
  ['a terminal', terminal],
] as const;

/** Options for `client.start` that run a shell script. */
export function shell(script: string) {
  return { argv: ['sh', '-c', script], cwd: '/', env };
}
