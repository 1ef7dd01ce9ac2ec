// Converts Sluice's start parameters for a server that is not Sluice. Refuses what that server would ignore.

import { rpcCodes } from '../base/rpc-codes.js';
import type { EnvPolicy, Io, Params, PreparedSpec } from '../protocol/index.js';
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
  /** A v0 server takes paths instead of URIs, and supports neither environment policies nor stdin pipes. */
  readonly isV0: boolean;
  /** The server's working directory as a file: URI, if it reports it. */
  readonly cwd: string | undefined;
}

/** The size of every terminal on such a server. */
const terminal = { rows: 24, cols: 80 };

/** Throws an RpcError, as if the server had refused. */
export function plainStart(params: Params<'process/start'>, host: PlainHost): PlainStart {
  if (typeof params.forceAfterMs === 'number') throw refused('forceAfterMs: it kills processes immediately');
  const { io, argv, arg0, env, policy, ...wanted } = params.prepared ? preparedCommand(params.prepared) : directCommand(params);
  requireIo(io, host);
  const cwd = wanted.cwd ?? host.cwd;
  if (cwd === undefined) throw refused('a start without cwd: it does not report its own folder');
  return {
    processId: params.processId,
    argv,
    cwd: host.isV0 ? pathOf(cwd) : uriOf(cwd),
    ...(policy ? environment(policy, env, host) : { env }),
    tty: io.kind === 'pty',
    pipeStdin: io.kind === 'pipe' && io.stdin === 'open',
    arg0: arg0 ?? null,
  };
}

interface Command {
  readonly argv: readonly string[];
  readonly arg0: string | null | undefined;
  readonly cwd: string | null | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly policy: EnvPolicy | null | undefined;
  readonly io: Io;
}

function directCommand({ argv, arg0, cwd, env, envPolicy, io }: Params<'process/start'>): Command {
  return { argv: argv ?? [], arg0, cwd, env: env ?? {}, policy: envPolicy, io: io ?? { kind: 'pipe', stdin: 'closed' } };
}

function preparedCommand({ program, argv: [arg0, ...args], cwd, env, io, fd3 }: PreparedSpec): Command {
  if (fd3 instanceof Uint8Array) throw refused('fd3: its processes have only three descriptors');
  return { argv: [program, ...args], arg0: arg0 === program ? undefined : arg0, cwd, env, policy: undefined, io };
}

function requireIo(io: Io, { isV0 }: PlainHost): void {
  if (io.kind === 'pty' && (io.rows !== terminal.rows || io.cols !== terminal.cols)) {
    throw refused(`a terminal of ${io.rows} rows and ${io.cols} columns, only ${terminal.rows} by ${terminal.cols}`);
  }
  if (io.kind === 'pipe' && io.stdin === 'open' && isV0) throw refused('an open stdin on a pipe, only on a terminal');
}

/** A released server requires every member. A v0 server has no policies, so only a policy that uses none of its variables is possible. */
function environment(policy: EnvPolicy, env: PlainStart['env'], { isV0 }: PlainHost): Pick<PlainStart, 'env' | 'envPolicy'> {
  const { inherit, ignoreDefaultExcludes, exclude, set, includeOnly } = policy;
  if (!isV0) {
    const whole = {
      inherit,
      ignoreDefaultExcludes: ignoreDefaultExcludes ?? false,
      exclude: exclude ?? [],
      set: set ?? {},
      includeOnly: includeOnly ?? [],
    };
    return { env, envPolicy: whole };
  }
  if (inherit !== 'none' || (includeOnly ?? []).length > 0) {
    throw refused(
      'an envPolicy that inherits or filters: it uses env as the whole environment; set envPolicy to { inherit: "none" }',
    );
  }
  return { env: { ...set, ...env } };
}

function uriOf(cwd: string): string {
  return cwd.startsWith('file:') ? cwd : `file://${cwd.split('/').map(encodeURIComponent).join('/')}`;
}

function pathOf(cwd: string): string {
  return cwd.startsWith('file:') ? decodeURIComponent(new URL(cwd).pathname) : cwd;
}

function refused(demand: string): RpcError {
  const message = `this server, which is not Sluice, does not support ${demand}`;
  return new RpcError({ code: rpcCodes.invalidParams, message, data: { kind: 'invalidParams', problem: message } });
}
