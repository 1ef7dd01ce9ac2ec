// Every limit and default of the server, each with its unit and its reason.

import type { TableLimits } from '../process/index.js';
import { acknowledgeEveryBytes } from '../protocol/index.js';
import type { ConnectionLimits } from '../rpc/connection.js';
import type { SessionLimits } from './session-table.js';

export interface ServerLimits extends TableLimits, SessionLimits, ConnectionLimits {
  /** Running processes over all sessions of one caller. */
  readonly maxProcessesPerCaller: number;
  /** Connections of known callers, for each address listened on. */
  readonly maxConnections: number;
  /**
   * Connections, for each address listened on, whose peers have neither shown a credential nor, where none is asked for, opened a
   * session. When there are more, the oldest are cut off.
   */
  readonly maxUnauthenticated: number;
  /** How long a client on a WebSocket may answer no ping before its connection is given up. */
  readonly silentClientMs: number;
  /** Kept of each stream for the reply to a command whose caller has disabled the cap. */
  readonly maxReplyBytes: number;
  /** Longest message of a client, in bytes. */
  readonly maxMessageBytes: number;
}

const kib = 1024;
const mib = 1024 * kib;

export const defaultLimits: ServerLimits = {
  /** As much as Codex retains: about ten thousand log lines. */
  retainedBytes: mib,
  /** Bounds the bookkeeping of programs that write a byte at a time. */
  retainedEntries: 50_000,
  /** Enough for a banner, a session id and the first errors of each stream. */
  headBytes: 64 * kib,
  /** Four acknowledgements: a reader that keeps up never waits, one that does not holds its process back. */
  readerWindowBytes: 4 * acknowledgeEveryBytes,
  /** Keeps a fast writer busy for milliseconds and costs little when the child does not read. */
  stdinWindowBytes: mib,
  /** What a caller that ignores the answers may pile up at most. */
  stdinCapBytes: 16 * mib,
  /** As long as Codex's one-shot commands wait for background jobs that hold the output. */
  drainQuietMs: 2_000,
  /** A background job that keeps on printing has been heard for long enough. */
  drainLimitMs: 30_000,
  /** Time for programs to clean up after themselves when they are asked to end. */
  forceAfterMs: 2_000,
  /**
   * What a process may take to clean up when it is ended with its connection, its session or the server. With the 5 s after which a
   * process stuck in the kernel is given up it is less than the 10 s that a client waits for `session/close` and a launcher for its
   * server, and the 20 s that open connections have when the server closes.
   */
  maxCloseGraceMs: 4_000,
  /** Each takes up to four descriptors; common limits on those start at 1024, and rise to many times this where it matters. */
  maxProcesses: 4_096,
  maxClosed: 4_096,
  /** Bounds what ended processes keep in memory together: about 60 of them with all the output that may be retained. */
  maxClosedBytes: 64 * mib,
  /** As much as Linux takes for arguments and environment together, under the usual limit on the stack. */
  maxArgvBytes: 2 * mib,
  maxEnvBytes: 2 * mib,
  /** Notes, not contents: a prompt or a job description fits. */
  maxMetadataBytes: 64 * kib,
  /** Thousands of ordinary commands; keeps the heap far below what V8 allows itself. */
  maxRequestBytes: 64 * mib,
  /** A client that lost its connection has 25 s to come back; its results are still there. */
  keepClosedMs: 30_000,
  /** Codex gives itself 25 s to come back after a lost connection. */
  detachGraceMs: 30_000,
  /**
   * A client stopped by Ctrl-Z, or whose machine is suspended, answers no ping and comes back to its command after a coffee. A host that
   * has vanished is mostly noticed sooner, because TCP's own probes fail.
   */
  silentClientMs: 20 * 60_000,
  /** Nobody was there when it ended, so its output waits for a day. */
  keepReleasedMs: 24 * 60 * 60 * 1_000,
  /** One per connection in the ordinary case. */
  maxSessionsPerCaller: 1_024,
  maxProcessesPerCaller: 8_192,
  maxConnections: 1_024,
  /** As many as may be known: clients that all come at once must not push each other out. Heads of 16 KiB make 16 MiB at most. */
  maxUnauthenticated: 1_024,
  /** A reply is one string, of which V8 has none longer than 512 MiB; this leaves room for both streams and their escapes. */
  maxReplyBytes: 32 * mib,
  /** As large as Codex's lines; a write of 16 MiB fits with its base64. */
  maxMessageBytes: 64 * mib,
  /** What Codex's own client keeps in flight. */
  maxInFlight: 1_024,
  /** Far deeper than any message of the protocol. */
  jsonDepth: 64,
  /** As many as Codex takes. */
  jsonValues: 262_144,
};

/** How much the log tells of requests that were refused. */
export const refusalLogLimits = {
  /** Each address has at most two lines in this time: its first refusal, and how many followed. */
  windowMs: 60_000,
  /** Addresses with lines of their own; the refusals of all others in a window are told together. */
  maxAddresses: 256,
};

/** Which kinds of command the server runs. */
export interface ExecPolicy {
  /** Raw commands, for trusted callers. */
  readonly allowDirectExec: boolean;
  /** Commands resolved by the caller, spawned exactly as given. */
  readonly allowPreparedExec: boolean;
}

export const defaultPolicy: ExecPolicy = { allowDirectExec: true, allowPreparedExec: true };
