// What a simulated program does with its life. Data only: scenarios are made of it, and shrink by it.

import type { Stream } from '#src/protocol/index.js';

export interface Piece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: number;
  /** Wait before it is written. */
  readonly afterMs: number;
}

export type OnTerm = 'dies' | 'ignores' | 'cleansUp';

export interface Descendant {
  /** Written into its leader's pipes, which it holds open as long as it lives. */
  readonly pieces: readonly Piece[];
  /** From the leader's end on. */
  readonly livesMs: number;
  readonly onTerm: OnTerm;
  /** Dies of SIGKILL only this long after it, as when stuck inside the kernel. */
  readonly stuckMs: number;
}

export interface Script {
  readonly io: 'pipe' | 'pty';
  readonly stdin: 'closed' | 'ignored' | 'read' | 'echoed' | 'shut';
  /** Bytes of input taken at a time. */
  readonly readBytes: number;
  readonly pieces: readonly Piece[];
  readonly end:
    | { readonly kind: 'code'; readonly code: number }
    | { readonly kind: 'signal'; readonly signal: string }
    /** Ends with code 0 once its input has ended; without input, at once. */
    | { readonly kind: 'endOfInput' }
    | { readonly kind: 'stays' };
  readonly onTerm: OnTerm;
  readonly stuckMs: number;
  readonly descendant: Descendant | undefined;
  readonly spawn: 'works' | 'fails';
}

/** What is written when asked to end, by those who clean up. */
export const lastWords: Piece = { stream: 'stdout', bytes: 700, afterMs: 5 };

const patternBytes = 262_139;
const longestSlice = 128 * 1024;
const pattern = makePattern();

/** The bytes of a stream at an offset: the same whoever asks. At most 128 KiB at a time; a view, not to be changed. */
export function bytesAt(salt: number, offset: number, length: number): Uint8Array {
  const start = (salt * 7919 + offset) % patternBytes;
  return pattern.subarray(start, start + length);
}

/** Tells the streams of all programs apart. */
export function saltOf(serial: number, stream: Stream): number {
  return serial * 3 + (stream === 'stderr' ? 1 : 2);
}

function makePattern(): Buffer {
  const bytes = Buffer.alloc(patternBytes + longestSlice);
  let state = 12_345;
  for (let at = 0; at < bytes.length; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    bytes[at] = at < patternBytes ? state >>> 16 : (bytes[at - patternBytes] ?? 0);
  }
  return bytes;
}
