// How a contract suite gets its client. The behaviour must not depend on it.

import type { Client } from '#src/client/index.js';
import type { ServerOptions } from '#src/server/index.js';

export interface Connector {
  readonly name: string;
  /** Each call is a server of its own; disposing the client ends it. */
  connect(options?: Pick<ServerOptions, 'limits' | 'policy'>): Promise<Client>;
  /** What the operating system does for the portable backend is less: docs/architecture.md lists the differences. */
  readonly backend: 'linux' | 'portable';
}

/** Nothing but what the commands of the suite need. */
export const env: Readonly<Record<string, string>> = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C.UTF-8' };

export const closedPipe = { kind: 'pipe', stdin: 'closed' } as const;
export const openPipe = { kind: 'pipe', stdin: 'open' } as const;
export const terminal = { kind: 'pty', rows: 24, cols: 80 } as const;

/** Both kinds of I/O, for behaviour that must be the same on each. */
export const bothKinds = [
  ['pipes', closedPipe],
  ['a terminal', terminal],
] as const;

/** A command line for the shell, started through `client.start`. */
export function shell(script: string) {
  return { argv: ['sh', '-c', script], cwd: '/', env };
}
