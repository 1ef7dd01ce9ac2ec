// The table of all errors on the wire: a name for code to test, a number for JSON-RPC, a text for people.

import { rpcCodes } from '../base/rpc-codes.js';
import type { SpawnFailure } from './process.js';

const { invalidRequest, invalidParams, internalError: internal } = rpcCodes;

export interface Row<D> {
  readonly code: number;
  readonly text: (data: D) => string;
}

function row<D>(code: number, text: (data: D) => string): Row<D> {
  return { code, text };
}

export interface FileProblem {
  readonly problem: string;
  /** The system's name of the error, such as EACCES; absent for a rule of this server. */
  readonly errno?: string;
}

export const errorTable = {
  /** A parameter is malformed, or two of them contradict each other. */
  invalidParams: row(invalidParams, (d: { problem: string }) => d.problem),
  processNotFound: row(invalidRequest, (d: { processId: string }) => `unknown process id ${d.processId}`),
  processExists: row(invalidRequest, (d: { processId: string }) => `process ${d.processId} already exists`),
  /** It is still running, or a process it started still holds its output open. */
  processNotClosed: row(
    invalidRequest,
    (d: { processId: string }) => `process ${d.processId} has not closed yet; terminate it, or wait until it closes`,
  ),
  notRestartable: row(
    invalidRequest,
    (d: { processId: string }) =>
      `process ${d.processId} cannot be restarted: it was not started as restartable, or has not been released`,
  ),
  /** The command never ran; `failure` is the reason. */
  spawnFailed: row(internal, (d: { failure: SpawnFailure; problem: string }) => d.problem),
  /** `remedy` is the parameter with which it should have been started. */
  notATerminal: row(
    invalidRequest,
    (d: { processId: string; remedy: string }) =>
      `process ${d.processId} has no terminal; start it with ${d.remedy} to resize it`,
  ),
  /** The write exceeds the free space in the stdin queue, because the child has not read enough. No part of it was accepted. */
  stdinFull: row(
    -32020,
    (d: { processId: string; offeredBytes: number; queuedBytes: number; freeBytes: number }) =>
      `stdin of process ${d.processId} has room for ${d.freeBytes} bytes now, with ${d.queuedBytes} bytes unread, got ${d.offeredBytes} bytes`,
  ),
  tooManyProcesses: row(
    -32021,
    (d: { limit: number }) => `at most ${d.limit} processes may run at once; end one before starting another`,
  ),
  /** The method is not in the table. */
  methodNotFound: row(rpcCodes.methodNotFound, (d: { method: string }) => `sluice does not implement "${d.method}"`),
  notInitialized: row(invalidRequest, (d: { family: string }) => `client must call initialize before using ${d.family} methods`),
  notReady: row(invalidRequest, (d: { family: string }) => `client must send initialized before using ${d.family} methods`),
  alreadyInitialized: row(invalidRequest, (_: object) => 'initialize may only be sent once per connection'),
  strayNotification: row(invalidRequest, (d: { method: string }) => `unexpected notification "${d.method}"; nothing was done`),
  /** The connection attached to the process with the role `watch`, not `drive`. */
  watchOnly: row(
    invalidRequest,
    (d: { processId: string; method: string }) =>
      `process ${d.processId} is attached with role "watch"; attach with role "drive" to use ${d.method}`,
  ),
  tooManySessions: row(
    -32023,
    (d: { limit: number }) => `this caller already has ${d.limit} sessions; close one before opening another`,
  ),
  sessionNotFound: row(invalidRequest, (d: { sessionId: string }) => `unknown session id ${d.sessionId}`),
  sessionAttached: row(-32010, (d: { sessionId: string }) => `session ${d.sessionId} is already attached to another connection`),
  /** The session has ended; nothing more can be started in it. */
  sessionClosed: row(invalidRequest, (_: { sessionId: string }) => 'the session has ended'),
  /** The server cannot enforce the request, so it is refused rather than ignored. */
  notEnforceable: row(
    invalidParams,
    (d: { demand: string }) => `${d.demand} cannot be enforced by this server; leave it out to run without it`,
  ),
  execNotAllowed: row(
    invalidRequest,
    (d: { form: 'direct' | 'prepared'; reason?: string }) =>
      `this server does not allow ${d.form} commands${d.reason === undefined ? '' : `: ${d.reason}`}`,
  ),
  /** The request is well-formed but not possible in the current state. */
  invalidRequest: row(invalidRequest, (d: { problem: string }) => d.problem),
  commandNotActive: row(invalidRequest, (d: { processId: string }) => `no active command/exec for process id "${d.processId}"`),
  commandExists: row(invalidRequest, (d: { processId: string }) => `duplicate active command/exec process id: "${d.processId}"`),
  stdinNotStreamed: row(invalidRequest, (_: { processId: string }) => 'stdin streaming is not enabled for this command/exec'),
  stdinEnded: row(invalidRequest, (_: { processId: string }) => 'stdin is already closed'),
  /** The requested sandbox is not available on this machine; the text says what to install. */
  sandboxUnavailable: row(invalidParams, (d: { problem: string }) => d.problem),
  /** Also an unknown file handle. The only error that Codex's client takes for "absent". */
  fileNotFound: row(-32004, (d: FileProblem) => d.problem),
  /** Not permitted, by the system or by this server, or not possible with this kind of file. */
  fileRefused: row(invalidRequest, (d: FileProblem) => d.problem),
  fileFailed: row(internal, (d: FileProblem) => d.problem),
  tooManyFlows: row(
    -32024,
    (d: { limit: number }) => `this session already has ${d.limit} flows; wait for one to end before opening another`,
  ),
  flowExists: row(invalidRequest, (d: { flowId: number }) => `flow ${d.flowId} already exists`),
  /** The operator has not allowed it. */
  networkRefused: row(invalidRequest, (d: { problem: string }) => d.problem),
  networkFailed: row(internal, (d: { problem: string; errno?: string }) => d.problem),
  internalError: row(internal, (d: { problem: string }) => d.problem),
} as const;

export type ErrorTable = typeof errorTable;
export type ErrorName = keyof ErrorTable;
export type ErrorData<N extends ErrorName> = Parameters<ErrorTable[N]['text']>[0];
const rows: { readonly [N in ErrorName]: Row<ErrorData<N>> } = errorTable;

/** A failure that crosses the wire. Test it with `isExecError`, never by its text. */
export class ExecError<N extends ErrorName = ErrorName> extends Error {
  override readonly name = 'ExecError';
  readonly kind: N;
  readonly code: number;
  readonly data: ErrorData<N>;

  constructor(kind: N, data: ErrorData<N>, options?: ErrorOptions) {
    super(rows[kind].text(data), options);
    this.kind = kind;
    this.code = rows[kind].code;
    this.data = data;
  }
}

export function execError<N extends ErrorName>(kind: N, data: ErrorData<N>, options?: ErrorOptions): ExecError<N> {
  return new ExecError(kind, data, options);
}

/** Whether it is any error from the table. */
export function isAnyExecError(error: unknown): error is ExecError {
  return error instanceof ExecError;
}

export function isExecError<N extends ErrorName>(error: unknown, kind: N): error is ExecError<N> {
  return error instanceof ExecError && error.kind === kind;
}
