// Parameters of calls that are more than passed on: which process they are about, and a write that may be made again.

import * as v from 'valibot';
import { type ProcessId, asProcessId } from '../protocol/index.js';

const aboutProcess = v.object({ processId: v.string() });
const write = v.object({ ...aboutProcess.entries, chunk: v.instance(Uint8Array), writeId: v.nullish(v.string()) });

export function processIdIn(params: unknown): ProcessId {
  return asProcessId(v.parse(aboutProcess, params).processId);
}

/** The process that a call is to start or to join; undefined for any other call. */
export function joinedBy({ method, params }: { readonly method: string; readonly params: unknown }): ProcessId | undefined {
  return method === 'process/start' || method === 'process/attach' ? processIdIn(params) : undefined;
}

/** The parameters of a call that may have arrived already. */
export function sentAgain(params: unknown): unknown {
  return Object.assign({}, params, { retry: true });
}

/** With an id, and with bytes of its own, so that it may be sent again. */
export function repeatableWrite(params: unknown, fallbackId: string): object {
  const { processId, chunk, writeId } = v.parse(write, params);
  return { processId, writeId: writeId ?? fallbackId, chunk: chunk.slice() };
}
