// Every limit and default of the server, each with its unit and its reason.

import type { TableLimits } from '../process/index.js';
import { acknowledgeEveryBytes } from '../protocol/index.js';
import type { ConnectionLimits } from '../rpc/connection.js';
import type { MachineLimits } from './machine/machine.js';
import type { SessionLimits } from './session-table.js';

export interface ServerLimits extends TableLimits, SessionLimits, ConnectionLimits, MachineLimits {
  /** Running processes across all sessions of one caller. */
  readonly maxProcessesPerCaller: number;
  /** Connections per listening address, not counting those under `maxUnauthenticated`. */
  readonly maxConnections: number;
  /**
   * Connections per listening address whose peers have not presented a credential or, where none is required, have not opened a
   * session. Above this, the oldest are closed.
   */
  readonly maxUnauthenticated: number;
  /** How long a WebSocket client may leave pings unanswered before its connection is closed. */
  readonly silentClientMs: number;
  /** Bytes kept of each stream for the reply to a command whose caller has disabled the cap. */
  readonly maxReplyBytes: number;
  /** Longest message a client may send, in bytes. */
  readonly maxMessageBytes: number;
  /** Transfers and forwarded connections of one session. */
  readonly maxFlows: number;
}

const kib = 1024;
const mib = 1024 * kib;

export const defaultLimits: ServerLimits = {
  /** The amount Codex retains: about ten thousand log lines. */
  retainedBytes: mib,
  /** Bounds the bookkeeping for programs that write one byte at a time. */
  retainedEntries: 50_000,
  /** Enough for a banner, a session id and the first errors of each stream. */
  headBytes: 64 * kib,
  /** Four acknowledgements' worth: a reader that keeps up never stalls, and one that does not slows its process down. */
  readerWindowBytes: 4 * acknowledgeEveryBytes,
  /** Keeps a fast writer busy for milliseconds, and costs little when the child does not read. */
  stdinWindowBytes: mib,
  /** The most that a caller can queue by ignoring the replies. */
  stdinCapBytes: 16 * mib,
  /** How long Codex's one-shot commands wait for background jobs that hold the output open. */
  drainQuietMs: 2_000,
  /** Upper bound for a background job that never stops printing. */
  drainLimitMs: 30_000,
  /** Gives programs time to clean up after SIGTERM. */
  forceAfterMs: 2_000,
  /**
   * Longest time to clean up for a process that is ended with its connection, its session or the server. Together with the 5 s after
   * which a process stuck in the kernel is abandoned, it stays below the 10 s that a client waits for `session/close` and a launcher
   * waits for its server, and below the 20 s that open connections have when the server closes.
   */
  maxCloseGraceMs: 4_000,
  /** Each process takes up to four descriptors; common descriptor limits start at 1024 and are far higher where it matters. */
  maxProcesses: 4_096,
  maxClosed: 4_096,
  /** Bounds the memory of all ended processes together: about 60 of them with the maximum retained output. */
  maxClosedBytes: 64 * mib,
  /** What Linux accepts for arguments and environment together under the usual stack limit. */
  maxArgvBytes: 2 * mib,
  maxEnvBytes: 2 * mib,
  /** Meant for notes, not content: a prompt or a job description fits. */
  maxMetadataBytes: 64 * kib,
  /** Enough for thousands of ordinary commands, and far below V8's heap limit. */
  maxRequestBytes: 64 * mib,
  /** Longer than the 25 s that a client has to reconnect, so that its results are still there. */
  keepClosedMs: 30_000,
  /** Codex gives itself 25 s to reconnect. */
  detachGraceMs: 30_000,
  /**
   * A client that is stopped with Ctrl-Z or on a suspended machine answers no pings, and may return to its command after a coffee
   * break. A host that has vanished is usually noticed sooner, because TCP's own probes fail.
   */
  silentClientMs: 20 * 60_000,
  /** No client was attached when the process ended, so its output is kept for a day. */
  keepReleasedMs: 24 * 60 * 60 * 1_000,
  /** Normally one session per connection. */
  maxSessionsPerCaller: 1_024,
  maxProcessesPerCaller: 8_192,
  maxConnections: 1_024,
  /** Equal to `maxConnections`, so that clients connecting all at once do not evict each other. Heads of 16 KiB add up to 16 MiB at most. */
  maxUnauthenticated: 1_024,
  /** A reply is one string, which V8 limits to 512 MiB; this leaves room for both streams with their escapes. */
  maxReplyBytes: 32 * mib,
  /** Codex's line limit; a write of 16 MiB fits as base64. */
  maxMessageBytes: 64 * mib,
  /** Enough for a browser that opens a preview; each holds at most a window of 1 MiB in each direction. */
  maxFlows: 256,
  /** Codex's limit. */
  maxFileHandles: 128,
  maxFileWatches: 64,
  /** A large repository with its packages has 10 000 to 20 000. The kernel has its own limit for all programs of the user. */
  maxWatchedFolders: 32_768,
  /** The largest file that can be read whole, once. */
  wholeReadBytes: 512 * mib,
  /** Codex's client opens one or two per MCP server. */
  maxHttpRequests: 128,
  /** The number Codex's own client keeps in flight. */
  maxInFlight: 1_024,
  /** Far deeper than any message of the protocol. */
  jsonDepth: 64,
  /** Codex's limit. */
  jsonValues: 262_144,
};

/** Limits on how much the log reports about refused requests. */
export const refusalLogLimits = {
  /** Each address gets at most two lines per window: its first refusal, and how many followed. */
  windowMs: 60_000,
  /** Addresses that get their own lines; the refusals of all others in a window share one line. */
  maxAddresses: 256,
};

/** Which kinds of command the server runs. */
export interface ExecPolicy {
  /** Raw commands, from trusted callers. */
  readonly allowDirectExec: boolean;
  /** Commands resolved by the caller, spawned exactly as given. */
  readonly allowPreparedExec: boolean;
  /** Told to callers when a command is not allowed. */
  readonly reason?: string;
}

/** For a server that confines its callers to folders: a command such as `cat` would undo that. */
export const confinedPolicy: ExecPolicy = {
  allowDirectExec: false,
  allowPreparedExec: false,
  reason: 'it confines its callers to folders, and a command could read everything else',
};

export const defaultPolicy: ExecPolicy = { allowDirectExec: true, allowPreparedExec: true };
