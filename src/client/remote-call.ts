// A call over a connection that may be lost: which process it concerns, whether and how it is repeated, and the errors it may end with.

import * as v from 'valibot';
import type { Deferred } from '../base/deferred.js';
import {
  type ConnectionMethod,
  type ErrorName,
  type ExecError,
  type ProcessId,
  asProcessId,
  errorTable,
  execError,
  isCommandMethod,
} from '../protocol/index.js';
import type { RpcError } from '../rpc/rpc-error.js';

export interface PendingCall {
  readonly method: ConnectionMethod;
  params: unknown;
  /** A start with an id that this client has not used: if it fails, no events will arrive for that id. */
  readonly isNewProcess: boolean;
  readonly answer: Deferred<unknown>;
}

const aboutProcess = v.object({ processId: v.string() });
const write = v.object({ ...aboutProcess.entries, chunk: v.instance(Uint8Array), writeId: v.nullish(v.string()) });

export function processIdIn(params: unknown): ProcessId {
  return asProcessId(v.parse(aboutProcess, params).processId);
}

/** The flow that a call opens; undefined for any other call. */
export function flowIdIn(params: unknown): number | undefined {
  return v.is(v.object({ flowId: v.number() }), params) ? params.flowId : undefined;
}

/** The process that a call starts or attaches to; undefined for any other call. */
export function joinedBy({ method, params }: PendingCall): ProcessId | undefined {
  return method === 'process/start' || method === 'process/attach' ? processIdIn(params) : undefined;
}

const unrepeatable: ReadonlySet<ConnectionMethod> = new Set([
  'process/signal',
  'process/restart',
  'files/copy',
  'files/move',
  'files/remove',
  'files/makeTemporary',
  'http/request',
]);

/** Calls that must not be executed twice, and one-shot commands, which ended with their connection. */
export function isUnrepeatable(method: ConnectionMethod): boolean {
  return unrepeatable.has(method) || isCommandMethod(method);
}

/** The parameters for repeating a call that the server may already have received. */
export function asRetry(params: unknown): unknown {
  return Object.assign({}, params, { retry: true });
}

/** Adds an id and copies the bytes, so that the write can be sent again. */
export function repeatableWrite(params: unknown, fallbackId: string): object {
  const { processId, chunk, writeId } = v.parse(write, params);
  return { processId, writeId: writeId ?? fallbackId, chunk: chunk.slice() };
}

/** Restores the ExecError that the server threw, so that callers handle errors the same way with and without a wire. */
export function toExecError(error: RpcError): ExecError | RpcError {
  const { data } = error;
  if (typeof data !== 'object' || data === null || !('kind' in data) || !isErrorName(data.kind)) return error;
  const { kind, ...rest } = data;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table meets a dynamic name: a Sluice server sends what its table says
  return execError(kind, rest as never, { cause: error });
}

function isErrorName(value: unknown): value is ErrorName {
  return typeof value === 'string' && Object.hasOwn(errorTable, value);
}
