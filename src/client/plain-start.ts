// A start as Sluice takes it -> as a server takes that is not Sluice. What would be ignored there is refused here.

import type { EnvPolicy, Io, Params } from '../protocol/index.js';
import { RpcError } from '../rpc/rpc-error.js';

export interface PlainStart {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly envPolicy?: Required<EnvPolicy>;
  readonly tty: boolean;
  readonly pipeStdin: boolean;
  readonly arg0: string | null;
}

export interface PlainHost {
  /** Takes paths instead of URIs, and has neither policies for the environment nor pipes for stdin. */
  readonly isV0: boolean;
  /** The server's own folder, as a file: URI, where it tells it. */
  readonly cwd: string | undefined;
}

/** The size of every terminal there. */
const terminal = { rows: 24, cols: 80 };

/** Throws an RpcError, as if the server itself had refused. */
export function plainStart(params: Params<'process/start'>, { isV0, cwd: serverCwd }: PlainHost): PlainStart {
  const { processId, prepared, envPolicy, forceAfterMs } = params;
  if (typeof forceAfterMs === 'number') throw refused('forceAfterMs: processes are ended at once');
  if (prepared?.fd3 != null) throw refused('fd3: there are three descriptors');
  const io = prepared?.io ?? params.io ?? { kind: 'pipe', stdin: 'closed' };
  requireIo(io, isV0);
  const cwd = prepared?.cwd ?? params.cwd ?? serverCwd;
  if (cwd === undefined) throw refused('a start without cwd: it does not tell its own folder');
  const variables = prepared?.env ?? params.env ?? {};
  const { env, policy } =
    prepared == null && envPolicy != null ? environment(envPolicy, variables, isV0) : { env: variables, policy: undefined };
  const [arg0, ...args] = prepared?.argv ?? [];
  return {
    processId,
    argv: prepared == null ? (params.argv ?? []) : [prepared.program, ...args],
    cwd: isV0 ? pathOf(cwd) : uriOf(cwd),
    env,
    ...(policy === undefined ? {} : { envPolicy: policy }),
    tty: io.kind === 'pty',
    pipeStdin: io.kind === 'pipe' && io.stdin === 'open',
    arg0: (prepared == null ? params.arg0 : arg0 === prepared.program ? undefined : arg0) ?? null,
  };
}

function requireIo(io: Io, isV0: boolean): void {
  if (io.kind === 'pty' && (io.rows !== terminal.rows || io.cols !== terminal.cols)) {
    throw refused(`a terminal of ${io.rows} rows and ${io.cols} columns: all have ${terminal.rows} and ${terminal.cols}`);
  }
  if (io.kind === 'pipe' && io.stdin === 'open' && isV0) throw refused('an open stdin on a pipe; a terminal has one');
}

/** Every member must be there for a released server. A v0 server has no policies, so only what needs none of its variables is possible. */
function environment(policy: EnvPolicy, env: Readonly<Record<string, string>>, isV0: boolean) {
  const { inherit, ignoreDefaultExcludes, exclude, set, includeOnly } = policy;
  if (!isV0) {
    const whole = {
      inherit,
      ignoreDefaultExcludes: ignoreDefaultExcludes ?? false,
      exclude: exclude ?? [],
      set: set ?? {},
      includeOnly: includeOnly ?? [],
    };
    return { env, policy: whole };
  }
  if (inherit !== 'none' || (includeOnly ?? []).length > 0) {
    throw refused(
      'an envPolicy that inherits or filters: env is the whole environment there; set envPolicy to { inherit: "none" }',
    );
  }
  return { env: { ...set, ...env }, policy: undefined };
}

function uriOf(cwd: string): string {
  return cwd.startsWith('file:') ? cwd : `file://${cwd.split('/').map(encodeURIComponent).join('/')}`;
}

function pathOf(cwd: string): string {
  return cwd.startsWith('file:') ? decodeURIComponent(new URL(cwd).pathname) : cwd;
}

function refused(demand: string): RpcError {
  const message = `this server, which is not Sluice, cannot do ${demand}`;
  return new RpcError({ code: -32602, message, data: { kind: 'invalidParams', problem: message } });
}
