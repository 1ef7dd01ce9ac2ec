// What a simulated program does. Data only: scenarios are built from it, and it shrinks with them.

import type { Stream } from '#src/protocol/index.js';

export interface Piece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: number;
  /** Delay before it is written. */
  readonly afterMs: number;
}

export type OnTerm = 'dies' | 'ignores' | 'cleansUp';

export interface Descendant {
  /** Written into its leader's pipes, which it holds open while it lives. */
  readonly pieces: readonly Piece[];
  /** Counted from the leader's end. */
  readonly livesMs: number;
  readonly onTerm: OnTerm;
  /** Dies only this long after SIGKILL, as when stuck inside the kernel. */
  readonly stuckMs: number;
}

export interface Script {
  readonly io: 'pipe' | 'pty';
  readonly stdin: 'closed' | 'ignored' | 'read' | 'echoed' | 'shut';
  /** Bytes of input read at a time. */
  readonly readBytes: number;
  readonly pieces: readonly Piece[];
  readonly end:
    | { readonly kind: 'code'; readonly code: number }
    | { readonly kind: 'signal'; readonly signal: string }
    /** Ends with code 0 once its input has ended; immediately if it has no input. */
    | { readonly kind: 'endOfInput' }
    | { readonly kind: 'stays' };
  readonly onTerm: OnTerm;
  readonly stuckMs: number;
  readonly descendant: Descendant | undefined;
  readonly spawn: 'works' | 'fails';
}

/** What a program with `onTerm: 'cleansUp'` writes when it receives SIGTERM. */
export const lastWords: Piece = { stream: 'stdout', bytes: 700, afterMs: 5 };

const patternBytes = 262_139;
const longestSlice = 128 * 1024;
const pattern = makePattern();

/** The bytes of a stream at an offset, always the same. At most 128 KiB at a time; a view that must not be modified. */
export function bytesAt(salt: number, offset: number, length: number): Uint8Array {
  const start = (salt * 7919 + offset) % patternBytes;
  return pattern.subarray(start, start + length);
}

/** Distinguishes the streams of all programs. */
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
