// Content of files through flows: sends and receives for a call, and turns the end of a flow into the error that a caller expects. Knows
// neither paths nor methods.

import { deferred } from '../base/deferred.js';
import { ConnectionClosedError } from '../rpc/rpc-error.js';
import { type Flow, FlowResetError } from '../rpc/flow.js';
import { execError } from '../protocol/index.js';
import type { ExecLink } from './exec-link.js';

/** Bytes to send: all at once, or as they become available. A chunk must not be changed before the transfer is complete. */
export type FileSource = string | Uint8Array | AsyncIterable<Uint8Array> | ReadableBytes;

/** A `ReadableStream`, also in runtimes where it cannot be iterated. */
export interface ReadableBytes {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<unknown>;
  };
}

export function chunksOf(source: FileSource): AsyncIterable<Uint8Array> {
  if (typeof source === 'string') return single(new TextEncoder().encode(source));
  if (source instanceof Uint8Array) return single(source);
  return Symbol.asyncIterator in source ? source : readerChunks(source);
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* readerChunks(source: ReadableBytes): AsyncGenerator<Uint8Array> {
  const reader = source.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) if (next.value !== undefined) yield next.value;
  } finally {
    await reader.cancel();
  }
}

export interface Sending<T> {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Makes the call that receives the flow. */
  readonly call: (flowId: number) => Promise<T>;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves with the reply, once everything is sent. Rejects as soon as the call does, even while the source has nothing to send. */
export async function sendThrough<T>(link: ExecLink, { chunks, call, signal }: Sending<T>): Promise<T> {
  signal?.throwIfAborted();
  const source = chunks[Symbol.asyncIterator]();
  const flow = link.openFlow();
  const reply = call(flow.id);
  const sending = send(flow, source);
  for (const each of [reply, sending]) each.catch(() => {}); // the first failure is reported, and the other one is its consequence
  using aborted = abortOf(signal);
  try {
    await Promise.race([sending, reply.then(() => sending), aborted.promise]);
    return await Promise.race([reply, aborted.promise]);
  } catch (error) {
    const problem = signal?.aborted === true ? 'the client has cancelled the transfer' : textOf(error);
    flow.reset(problem);
    source.return?.().catch(() => {}); // it may be waiting for its own source
    // The server resets the flow when its call fails, so the reply has the reason.
    if (error instanceof FlowResetError) await reply;
    throw await flowFailure(link, error);
  }
}

async function send(flow: Flow, source: AsyncIterator<Uint8Array>): Promise<void> {
  for (let next = await source.next(); next.done !== true; next = await source.next()) await flow.write(next.value);
  flow.end();
}

/** Rejects when the signal is aborted, until disposed. */
function abortOf(signal: AbortSignal | undefined): Disposable & { readonly promise: Promise<never> } {
  const aborted = deferred<never>();
  const { promise } = aborted;
  promise.catch(() => {}); // nothing waits for it any more when the transfer is complete
  const abort = (): void => aborted.reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  return { promise, [Symbol.dispose]: () => signal?.removeEventListener('abort', abort) };
}

/** A flow that ends because the client does is a lost connection; any other end is a failure of the file. */
export async function flowFailure(link: ExecLink, error: unknown): Promise<unknown> {
  if (!(error instanceof FlowResetError)) return error;
  const end = await endOf(link);
  if (end !== undefined) return new ConnectionClosedError(end.problem ?? 'the client is closed');
  return execError('fileFailed', { problem: error.message }, { cause: error });
}

/** How the link has ended; undefined while it has not. */
async function endOf(link: ExecLink): Promise<{ readonly problem: string | undefined } | undefined> {
  const settled: { end?: { readonly problem: string | undefined } } = {};
  void link.ended.then((problem) => {
    settled.end = { problem };
  });
  await Promise.resolve(); // runs after the line above if the link has ended
  return settled.end;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
