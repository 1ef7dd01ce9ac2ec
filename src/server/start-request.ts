// Translates process/start parameters into process options, and rejects contradictory ones.

import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shownValue } from '../base/shown-value.js';
import { type ProcessOptions, type SpawnSpec, childEnvironment } from '../process/index.js';
import { type Io, type PreparedSpec, type SandboxContext, type StartParams, execError } from '../protocol/index.js';
import type { ExecPolicy } from './config.js';

/** The server's own working directory and environment, used where the caller names none. */
export interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Codex's default terminal size. */
const defaultSize = { rows: 24, cols: 80 };

export function processOptions(params: StartParams, surroundings: Surroundings, policy: ExecPolicy): ProcessOptions {
  refuseUnenforceable(params);
  const { prepared } = params;
  const form = prepared === undefined || prepared === null ? 'direct' : 'prepared';
  requireAllowed(form, policy);
  return {
    id: params.processId,
    spec: prepared === undefined || prepared === null ? directSpec(params, surroundings) : exactSpec(prepared, params),
    timeoutMs: params.timeoutMs ?? undefined,
    idleTimeoutMs: params.idleTimeoutMs ?? undefined,
    forceAfterMs: params.forceAfterMs ?? undefined,
    metadata: params.metadata ?? undefined,
    ...(params.restartable === true ? { restartable: true } : {}),
  };
}

export function requireAllowed(form: 'direct' | 'prepared', { allowDirectExec, allowPreparedExec, reason }: ExecPolicy): void {
  if (form === 'direct' ? allowDirectExec : allowPreparedExec) return;
  throw execError('execNotAllowed', { form, ...(reason === undefined ? {} : { reason }) });
}

function directSpec(params: StartParams, surroundings: Surroundings): SpawnSpec {
  const { argv } = params;
  if (argv === undefined || argv === null || argv.length === 0) throw invalid('argv must not be empty');
  return {
    program: { kind: 'lookup' },
    argv,
    cwd: params.cwd === undefined || params.cwd === null ? surroundings.cwd : nativePath(params.cwd),
    env: childEnvironment(params.envPolicy ?? undefined, params.env ?? {}, surroundings.env),
    io: ioOf(params),
    arg0: params.arg0 ?? undefined,
  };
}

function exactSpec(prepared: PreparedSpec, params: StartParams): SpawnSpec {
  const direct = (['argv', 'cwd', 'env', 'envPolicy', 'io', 'tty', 'pipeStdin', 'arg0'] as const).find(
    (name) => params[name] !== undefined && params[name] !== null,
  );
  if (direct !== undefined) throw invalid(`${direct} cannot be combined with prepared; put it inside prepared`);
  const { program, argv, env, io, fd3 } = prepared;
  return {
    program: { kind: 'exact', path: program },
    argv,
    cwd: nativePath(prepared.cwd),
    env,
    io,
    arg0: undefined,
    ...(fd3 === undefined || fd3 === null ? {} : { fd3 }),
  };
}

/** `io` is the precise form; `tty` and `pipeStdin` are Codex's. Giving both is fine as long as they agree. */
function ioOf({ io, tty, pipeStdin }: StartParams): Io {
  if (io === undefined || io === null) {
    return tty === true ? { kind: 'pty', ...defaultSize } : { kind: 'pipe', stdin: pipeStdin === true ? 'open' : 'closed' };
  }
  const isTty = io.kind === 'pty';
  if (typeof tty === 'boolean' && tty !== isTty) throw invalid(`tty ${tty} and io.kind "${io.kind}" contradict each other`);
  if (typeof pipeStdin === 'boolean' && !isTty && pipeStdin !== (io.stdin === 'open')) {
    throw invalid(`pipeStdin ${pipeStdin} and io.stdin "${io.stdin}" contradict each other`);
  }
  return io;
}

/** An absolute path, or the path of a file: URI on this machine. */
export function nativePath(cwd: string): string {
  if (isAbsolute(cwd)) return cwd;
  // Without the slash the URI is relative, and would be resolved against the root directory.
  if (!/^file:\//i.test(cwd)) throw invalid(`cwd must be an absolute path or a file:/ URI, got ${shownValue(cwd)}`);
  try {
    return fileURLToPath(cwd);
  } catch (error) {
    throw execError('invalidParams', { problem: `cwd URI ${shownValue(cwd)} is not a path on this machine` }, { cause: error });
  }
}

function refuseUnenforceable(params: StartParams): void {
  const { sandbox } = params;
  if (sandbox !== undefined && sandbox !== null && !isUnconfined(sandbox))
    throw execError('notEnforceable', { demand: 'sandbox' });
  const demands = ['networkProxy', 'managedNetwork'] as const;
  const demand = demands.find((name) => params[name] !== undefined && params[name] !== null);
  if (demand !== undefined) throw execError('notEnforceable', { demand });
  if (params.enforceManagedNetwork === true) throw execError('notEnforceable', { demand: 'enforceManagedNetwork' });
}

/** Whether the permissions ask for nothing that would have to be enforced. */
function isUnconfined({ permissions }: SandboxContext): boolean {
  switch (permissions.type) {
    case 'disabled':
    case 'external':
      return true;
    case 'managed':
      return permissions.file_system.type === 'unrestricted' && permissions.network === 'enabled';
  }
}

function invalid(problem: string) {
  return execError('invalidParams', { problem });
}
