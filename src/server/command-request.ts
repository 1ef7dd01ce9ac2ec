// Translates command/exec parameters into a spawn spec, with the rules and error texts of Codex's app-server.

import path from 'node:path';
import { type SpawnSpec, childEnvironment } from '../process/index.js';
import { type Io, type Params, type ProcessId, type SandboxPolicy, execError } from '../protocol/index.js';
import type { ExecPolicy } from './config.js';
import { type Surroundings, nativePath, requireAllowed } from './start-request.js';

export interface CommandRequest {
  /** Undefined when no follow-up call can refer to the command. */
  readonly processId: ProcessId | undefined;
  readonly spec: SpawnSpec;
  readonly timeoutMs: number | undefined;
  /** Bytes passed on for each stream. */
  readonly capBytes: number;
  readonly isStdinStreamed: boolean;
  readonly isOutputStreamed: boolean;
  readonly sandboxPolicy: SandboxPolicy;
}

const defaultCapBytes = 1024 * 1024;
const defaultTimeoutMs = 10_000;
const defaultSize = { rows: 24, cols: 80 };

/** The kernel stores rows and columns in 16 bits each. */
const largestSide = 65_535;

/** The parts of a session that its commands use. */
interface CommandSession {
  readonly surroundings: Surroundings;
  readonly policy: ExecPolicy;
  readonly isClosed: boolean;
  readonly maxReplyBytes: number;
  readonly id: string;
}

export function commandRequest(params: Params<'command/exec'>, session: CommandSession): CommandRequest {
  const { surroundings, policy, isClosed, id } = session;
  if (isClosed) throw execError('sessionClosed', { sessionId: id });
  requireAllowed('direct', policy);
  const { command, processId, sandboxPolicy } = params;
  if (command.length === 0) throw execError('invalidRequest', { problem: 'command must not be empty' });
  const isTty = params.tty === true;
  const isStdinStreamed = isTty || params.streamStdin === true;
  const isOutputStreamed = isTty || params.streamStdoutStderr === true;
  if ((isStdinStreamed || isOutputStreamed) && (processId === undefined || processId === null)) {
    throw execError('invalidRequest', { problem: 'command/exec tty or streaming requires a client-supplied processId' });
  }
  refuseProfiles(params);
  return {
    processId: processId ?? undefined,
    spec: {
      program: { kind: 'lookup' },
      argv: command,
      cwd: path.resolve(
        surroundings.cwd,
        params.cwd?.startsWith('file:') === true ? nativePath(params.cwd) : (params.cwd ?? '.'),
      ),
      env: environmentOf(params, surroundings),
      io: ioOf(params, { isTty, isStdinStreamed }),
      arg0: undefined,
    },
    timeoutMs: timeoutOf(params),
    capBytes: isOutputStreamed ? capOf(params) : Math.min(capOf(params), session.maxReplyBytes),
    isStdinStreamed,
    isOutputStreamed,
    sandboxPolicy: sandboxPolicy ?? { type: 'dangerFullAccess' },
  };
}

function refuseProfiles({ permissionProfile, sandboxPolicy }: Params<'command/exec'>): void {
  if (permissionProfile === undefined || permissionProfile === null) return;
  if (sandboxPolicy === undefined || sandboxPolicy === null) throw execError('notEnforceable', { demand: 'permissionProfile' });
  throw execError('invalidRequest', { problem: '`permissionProfile` cannot be combined with `sandboxPolicy`' });
}

function capOf({ outputBytesCap, disableOutputCap }: Params<'command/exec'>): number {
  const isNamed = outputBytesCap !== undefined && outputBytesCap !== null;
  if (disableOutputCap !== true) return isNamed ? outputBytesCap : defaultCapBytes;
  if (isNamed) throw invalid('command/exec cannot set both outputBytesCap and disableOutputCap');
  return Infinity;
}

function timeoutOf({ timeoutMs, disableTimeout }: Params<'command/exec'>): number | undefined {
  const isNamed = timeoutMs !== undefined && timeoutMs !== null;
  if (isNamed && disableTimeout === true) throw invalid('command/exec cannot set both timeoutMs and disableTimeout');
  if (disableTimeout === true) return undefined;
  if (isNamed && timeoutMs < 0) throw invalid(`command/exec timeoutMs must be non-negative, got ${timeoutMs}`);
  return isNamed ? timeoutMs : defaultTimeoutMs;
}

function ioOf({ size }: Params<'command/exec'>, form: { readonly isTty: boolean; readonly isStdinStreamed: boolean }): Io {
  const isSized = size !== undefined && size !== null;
  if (!form.isTty) {
    if (isSized) throw invalid('command/exec size requires tty: true');
    return { kind: 'pipe', stdin: form.isStdinStreamed ? 'open' : 'closed' };
  }
  return { kind: 'pty', ...(isSized ? terminalSize(size) : defaultSize) };
}

export function terminalSize({ rows, cols }: { readonly rows: number; readonly cols: number }) {
  if (rows <= 0 || cols <= 0) throw invalid('command/exec size rows and cols must be greater than 0');
  if (rows > largestSide || cols > largestSide)
    throw invalid(`command/exec size rows and cols must be at most ${largestSide}, got ${rows} and ${cols}`);
  return { rows, cols };
}

function environmentOf({ env, envPolicy }: Params<'command/exec'>, surroundings: Surroundings): Record<string, string> {
  const inherited = childEnvironment(envPolicy ?? { inherit: 'all' }, {}, surroundings.env);
  const kept = Object.entries({ ...inherited, ...env }).filter((entry): entry is [string, string] => entry[1] !== null);
  return Object.fromEntries(kept);
}

function invalid(problem: string) {
  return execError('invalidParams', { problem });
}
