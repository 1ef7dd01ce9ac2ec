// Checks options of the library that the wire protocol does not have, or names differently. The protocol's table checks the others.

import * as v from 'valibot';
import { processId, seq } from '../protocol/ids.js';
import { limit } from '../protocol/ids.js';
import { envPolicy, size, stream } from '../protocol/process.js';

const input = v.custom(isInput, 'a string, a Uint8Array, or an iterable of these');
const abortSignal = v.custom(isAbortSignal, 'an AbortSignal');
const listener = v.custom((value) => typeof value === 'function', 'a function');
const wanted = v.custom((value) => typeof value === 'string' || value instanceof RegExp, 'a string or a RegExp');

/** Infinity is allowed and means no limit. */
const patienceMs = v.pipe(v.number(), v.minValue(0));

/** Rejects a name that callers know from other libraries, because ignoring it would silently drop the value. */
function misnamed(advice: string) {
  return v.optional(v.never(`expected no option of this name (${advice})`));
}

const stdin = misnamed('use "input"');
const written = misnamed('set "io" to keep stdin open, and write to the handle');

export const startOptions = v.object({
  id: v.optional(processId),
  envPolicy: v.optional(envPolicy),
  input: written,
  stdin: written,
});

export const runOptions = v.object({
  input: v.optional(input),
  maxOutputBytes: v.optional(seq),
  signal: v.optional(abortSignal),
  stdin,
});

export const execOptions = v.object({
  envPolicy: v.optional(envPolicy),
  input: v.optional(input),
  onOutput: v.optional(listener),
  signal: v.optional(abortSignal),
  tty: v.optional(size),
  timeoutMs: v.optional(v.union([v.literal('none'), limit])),
  outputBytesCap: v.optional(v.union([v.literal('none'), seq])),
  stdin,
});

export const terminateOptions = v.object({ forceAfterMs: v.optional(limit) });

export const linesOptions = v.object({ stream: v.optional(stream), maxLineBytes: v.optional(v.number()) });

export const collectOptions = v.object({
  deadlineMs: patienceMs,
  quietMs: v.optional(patienceMs),
  text: v.optional(wanted),
  maxBytes: v.optional(seq),
});

function isInput(value: unknown): boolean {
  if (typeof value === 'string') return true;
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

/** Checks members instead of the class, so that polyfills are accepted too. */
function isAbortSignal(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value;
}
