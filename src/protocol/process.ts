// Schemas for processes: what to start, what it wrote, how it ended. Pure data.

import * as v from 'valibot';
import { bytes } from './bytes.js';
import { limit, processId, seq } from './ids.js';
import { mapOf, optionalMembers } from './map.js';
import { sandboxContext } from './sandbox-context.js';

/** Longest path in characters: Linux accepts 4 096 bytes, each of which takes up to three characters in a file: URI. */
const pathLength = 16 * 1024;
export const path = v.pipe(v.string(), v.maxLength(pathLength));

/** Globs per list, and characters per glob. Limited because each is matched against every variable. */
const globCount = 1_024;
const globLength = 256;
const globs = v.pipe(v.array(v.pipe(v.string(), v.maxLength(globLength))), v.maxLength(globCount));

/** Rows and columns of a terminal; the kernel stores each in 16 bits. */
const side = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535));
export const size = v.object({ rows: side, cols: side });
export type Size = v.InferOutput<typeof size>;

export const io = v.variant('kind', [
  v.object({ kind: v.literal('pty'), rows: side, cols: side }),
  v.object({ kind: v.literal('pipe'), stdin: v.picklist(['open', 'closed']) }),
]);
export type Io = v.InferOutput<typeof io>;

export const stream = v.picklist(['stdout', 'stderr', 'pty']);
export type Stream = v.InferOutput<typeof stream>;

export const envPolicy = v.object({
  inherit: v.pipe(
    v.picklist(['all', 'core', 'none']),
    v.description(
      'What to inherit from the server: everything, the core variables (PATH, SHELL, TMPDIR, TEMP, TMP, HOME, LANG, LC_ALL, LC_CTYPE, LOGNAME, USER), or nothing',
    ),
  ),
  ignoreDefaultExcludes: v.pipe(
    v.nullish(v.boolean()),
    v.description('true: also inherit variables whose names match *KEY*, *SECRET* or *TOKEN*, which are excluded otherwise'),
  ),
  exclude: v.pipe(v.nullish(globs), v.description('Globs of names to exclude; case does not matter')),
  set: v.pipe(v.nullish(mapOf(v.string())), v.description('Variables to set after the exclusions')),
  includeOnly: v.pipe(v.nullish(globs), v.description('When not empty, only names that match one of these globs are kept')),
});
export type EnvPolicy = v.InferOutput<typeof envPolicy>;

/** An already resolved command, spawned exactly as given: no PATH lookup, no environment policy. */
export const preparedSpec = v.object({
  program: v.pipe(path, v.description('Absolute path of the file to execute')),
  argv: v.pipe(v.array(v.string()), v.minLength(1)),
  cwd: path,
  env: mapOf(v.string()),
  io,
  fd3: v.pipe(
    v.nullish(bytes),
    v.description('Contents of descriptor 3, followed by end of file: base64 of at most 4096 bytes. Closed when absent'),
  ),
});
export type PreparedSpec = v.InferOutput<typeof preparedSpec>;

export const startParams = v.object({
  processId,
  argv: v.pipe(
    v.nullish(v.pipe(v.array(v.string()), v.readonly())),
    v.description('Program and arguments, at most 2 MiB unless configured otherwise; required unless `prepared` is given'),
  ),
  cwd: v.pipe(v.nullish(path), v.description("Absolute path or file: URI; the server's working directory when absent")),
  env: v.pipe(
    v.nullish(v.pipe(mapOf(v.string()), v.readonly())),
    v.description(
      'Variables applied on top of the policy; without a policy, the whole environment. At most 2 MiB in total, unless the server is configured otherwise',
    ),
  ),
  envPolicy: v.nullish(envPolicy),
  io: v.pipe(v.nullish(io), v.description('Pipes with stdin closed when absent')),
  tty: v.pipe(v.nullish(v.boolean()), v.description('Short for io {kind: "pty", rows: 24, cols: 80}')),
  pipeStdin: v.pipe(v.nullish(v.boolean()), v.description('Short for io {kind: "pipe", stdin: "open"}')),
  arg0: v.pipe(v.nullish(v.string()), v.description('The name the program sees as its own (argv[0])')),
  prepared: v.pipe(
    v.nullish(preparedSpec),
    v.description('A resolved command, in place of argv, cwd, env, envPolicy, io and arg0'),
  ),
  timeoutMs: v.pipe(v.nullish(limit), v.description('The process is ended after this time, with reason timedOut')),
  idleTimeoutMs: v.pipe(
    v.nullish(limit),
    v.description('The process is ended after this time without output, with reason idleTimedOut'),
  ),
  forceAfterMs: v.pipe(
    v.nullish(limit),
    v.description(
      'Grace between SIGTERM and SIGKILL whenever this process is ended without an explicit one; 2000 when absent. Limited to 4000 when it is ended with its connection, its session or the server',
    ),
  ),
  metadata: v.pipe(
    v.nullish(mapOf(v.unknown())),
    v.description('Notes of the caller, returned by process/list. At most 64 KiB as JSON, unless configured otherwise'),
  ),
  restartable: v.pipe(
    v.nullish(v.boolean()),
    v.description(
      'true: the server keeps what process/restart needs, including the environment, for as long as it knows the process. No reply contains it',
    ),
  ),
  retry: v.pipe(
    v.nullish(v.boolean()),
    v.description('This start may have arrived before: a process with this id and the same argv counts as its result'),
  ),
  sandbox: v.pipe(v.nullish(sandboxContext), v.description('Rights of the process; refused if they would have to be enforced')),
  networkProxy: v.pipe(v.nullish(v.unknown()), v.description('Refused: the server runs no proxy')),
  managedNetwork: v.pipe(v.nullish(v.unknown()), v.description('Refused: the server manages no network')),
  enforceManagedNetwork: v.pipe(v.nullish(v.boolean()), v.description('Refused when true')),
});
export type StartParams = v.InferOutput<typeof startParams>;

/** Why a command never ran. */
export const spawnFailure = v.picklist([
  'programNotFound',
  'notExecutable',
  'permissionDenied',
  'cwdNotFound',
  'cwdNotDirectory',
  'badArgument',
  'outOfResources',
]);
export type SpawnFailure = v.InferOutput<typeof spawnFailure>;

export const endReason = v.picklist([
  'exited',
  'terminated',
  'timedOut',
  'idleTimedOut',
  'disconnected',
  'spawnFailed',
  'serverLost',
]);
export type EndReason = v.InferOutput<typeof endReason>;

const resourceUse = v.object({
  userMs: v.number(),
  systemMs: v.number(),
  maxRssBytes: v.pipe(
    v.optional(v.pipe(v.number(), v.integer())),
    v.description("Absent when it was not larger than the server's own, which the kernel includes in the figure"),
  ),
});
export type ResourceUse = v.InferOutput<typeof resourceUse>;

const endingFacts = {
  reason: v.pipe(endReason, v.description('Why it ended: exited on its own, or what ended it')),
  outputComplete: v.pipe(v.boolean(), v.description('true when everything the process wrote has been read')),
  droppedBytes: v.pipe(v.number(), v.integer(), v.description('Output bytes already dropped to stay within the retention limit')),
  startedAt: v.pipe(v.number(), v.description('Milliseconds since the Unix epoch')),
  endedAt: v.pipe(v.number(), v.description('Milliseconds since the Unix epoch')),
  resources: v.optional(resourceUse),
};

/** How a process ended. An end that was not observed is `lost`, never code 0. */
export const ending = v.variant('kind', [
  v.object({ kind: v.literal('code'), code: v.pipe(v.number(), v.integer()), ...endingFacts }),
  v.object({ kind: v.literal('signal'), signal: v.string(), ...endingFacts }),
  v.object({ kind: v.literal('lost'), ...endingFacts }),
]);
export type Ending = v.InferOutput<typeof ending>;

export const chunk = v.object({ seq, stream, chunk: bytes });
/** Output bytes as they arrived. Immutable: they are the log's own copy. */
export type Chunk = v.InferOutput<typeof chunk>;

const exitFacts = {
  exitCode: v.pipe(v.number(), v.integer(), v.description('Exit code; 128+N for signal N; -1 when the end was not observed')),
  signal: v.pipe(v.optional(v.string()), v.description('Name of the signal that ended it')),
  sandboxDenied: v.boolean(),
  ending,
};

const missing = {
  droppedBytes: v.pipe(
    v.optional(v.number()),
    v.description('Bytes missing just before this, because they were no longer retained; absent when none are missing'),
  ),
};

export const outputEvent = v.object({ processId, ...chunk.entries, ...missing });
export const exitedEvent = v.object({ processId, seq, ...exitFacts, ...missing });
export const closedEvent = v.object({
  processId,
  seq,
  ...missing,
  survivors: v.pipe(
    v.optional(v.array(v.number())),
    v.description('Pids of processes in the tree that could not be ended; absent when there are none'),
  ),
});

/** Neither has a sequence number: both are about the start, not about what the process did. */
export const startedEvent = v.object({ processId, pid: v.pipe(v.number(), v.description('Operating-system pid')) });
export const failedEvent = v.object({
  processId,
  problem: v.pipe(v.string(), v.description('The message of the error reply')),
  failure: v.pipe(v.optional(spawnFailure), v.description('Why the command never ran; absent when the request was refused')),
});

/** Accompanies the cursor `afterSeq`. */
export const afterBytes = v.pipe(
  v.nullish(seq),
  v.description(
    'Bytes of all streams up to and including afterSeq, including missing ones: makes droppedBytes exact even when that number is no longer retained',
  ),
);

export const page = v.object({
  chunks: v.array(v.object({ ...chunk.entries, ...missing })),
  nextSeq: v.pipe(
    seq,
    v.description('Continue after nextSeq - 1. The next number that the process will use, unless maxBytes ended the page early'),
  ),
  nextBytes: v.pipe(seq, v.description('Bytes of all streams before nextSeq, even missing ones: afterBytes of the next read')),
  firstSeq: v.pipe(v.optional(seq), v.description('Present when output was dropped: the first chunk after the first gap')),
  droppedBytes: v.pipe(
    v.number(),
    v.integer(),
    v.description('Bytes missing between afterSeq and nextSeq, in one gap or several; 0 when nothing is missing'),
  ),
  exited: v.pipe(v.boolean(), v.description('true when the process has ended and this page contains the last chunk so far')),
  exitCode: v.pipe(v.nullable(v.pipe(v.number(), v.integer())), v.description('null unless exited is true')),
  signal: v.optional(v.string()),
  closed: v.pipe(v.boolean(), v.description('true when this page contains the last chunk and no more can follow')),
  failure: v.nullable(v.string()),
  sandboxDenied: v.boolean(),
});
export type Page = v.InferOutput<typeof page>;

const retainedStream = v.object({
  head: v.pipe(bytes, v.description('The first bytes')),
  tail: v.pipe(bytes, v.description('The last bytes; directly follows the head when nothing was dropped')),
  truncated: v.boolean(),
  droppedBytes: v.pipe(v.number(), v.integer(), v.description('Bytes missing between head and tail')),
});
export type RetainedStream = v.InferOutput<typeof retainedStream>;

export const snapshot = v.object({
  streams: optionalMembers({
    stdout: v.optional(retainedStream),
    stderr: v.optional(retainedStream),
    pty: v.optional(retainedStream),
  }),
  nextSeq: seq,
  running: v.pipe(v.boolean(), v.description('false once the process itself has ended')),
  exitCode: v.pipe(v.nullable(v.pipe(v.number(), v.integer())), v.description('As in process/exited; null while it runs')),
  signal: v.pipe(v.optional(v.string()), v.description('Name of the signal that ended it')),
});
export type Snapshot = v.InferOutput<typeof snapshot>;

export const processStatus = v.object({
  processId,
  sessionId: v.pipe(v.optional(v.string()), v.description('Session that owns it; present when several were requested')),
  pid: v.pipe(v.number(), v.description('Operating-system pid of the leader; may be reused once the leader has exited')),
  argv: v.array(v.string()),
  cwd: v.string(),
  io,
  state: v.pipe(v.picklist(['running', 'exited', 'closed']), v.description('exited: it ended; closed: its last output was read')),
  startedAt: v.number(),
  nextSeq: seq,
  outputBytes: v.pipe(v.number(), v.description('Bytes written so far, including dropped ones')),
  ending: v.optional(ending),
  metadata: v.optional(mapOf(v.unknown())),
});
export type ProcessStatus = v.InferOutput<typeof processStatus>;
