// The single source of the protocol: every request with its schemas (notifications are in notifications.ts). Types, validators, the JSON
// Schema and the reference page are derived from it.

import * as v from 'valibot';
import { bytes } from './bytes.js';
import { codexFileRequests } from './codex-files.js';
import { commandExecParams, commandExecResult, commandResizeParams, commandWriteParams } from './command.js';
import { discoveryRequests } from './discovery.js';
import { fileRequests } from './files.js';
import { limit, processId, seq, shortName, writeId } from './ids.js';
import { optionalMembers } from './map.js';
import { networkRequests } from './network.js';
import type { notifications } from './notifications.js';
import { afterBytes, ending, page, processStatus, size, snapshot, startParams } from './process.js';
import {
  attachParams,
  environmentInfo,
  initializeParams,
  initializeResult,
  releaseParams,
  releaseResult,
  restartParams,
} from './session.js';

const empty = optionalMembers({});
const byProcessId = { processId };
const moment = v.picklist(['exited', 'closed']);
const pid = v.pipe(v.number(), v.description('Operating-system pid'));

/**
 * `connection` methods act on the connection itself, `session` methods on the processes of its session, and `command` methods are the
 * one-shot family. `file`, `network` and `discovery` methods act on the server's machine.
 */
type Family = 'connection' | 'session' | 'command' | 'file' | 'network' | 'discovery';

interface RequestRow {
  readonly family: Family;
  readonly summary: string;
  readonly params: v.GenericSchema;
  readonly result: v.GenericSchema;
}

export const requests = {
  initialize: {
    family: 'connection',
    summary: 'Opens or resumes a session. The first request of every connection.',
    params: initializeParams,
    result: initializeResult,
  },
  'session/close': {
    family: 'connection',
    summary:
      'Ends the session and every process in it, all at once and each with its own grace (`forceAfterMs`, at most 4 s). Replies when all of them are gone.',
    params: v.nullish(empty),
    result: empty,
  },
  'process/start': {
    family: 'session',
    summary: 'Starts a process. The reply is sent before its first notification.',
    params: startParams,
    result: v.object({
      processId,
      sandboxType: v.literal('none'),
      pid: v.pipe(v.optional(v.number()), v.description('Operating-system pid; a Sluice server always sends it')),
    }),
  },
  'process/read': {
    family: 'session',
    summary: 'Pages through retained output after a sequence number; can wait for more. Gaps are reported for each chunk.',
    params: v.object({
      ...byProcessId,
      afterSeq: v.pipe(
        v.nullish(limit),
        v.description(
          'Last number already seen; 0 or absent: from the start of the retained output. After a number not yet reached, the page is empty',
        ),
      ),
      afterBytes,
      maxBytes: v.pipe(v.nullish(limit), v.description('Soft bound: at least one whole chunk is returned')),
      waitMs: v.pipe(v.nullish(limit), v.description('If there is nothing to read yet, wait this long for output or the end')),
      until: v.pipe(
        v.nullish(moment),
        v.description('The event after which the read no longer waits; exited when absent. Descendants may write until closed'),
      ),
    }),
    result: page,
  },
  'process/write': {
    family: 'session',
    summary:
      'Writes to stdin, in arrival order. Replies when the bytes fit into the window; fails with stdinFull beyond the hard cap.',
    params: v.object({
      ...byProcessId,
      chunk: bytes,
      writeId: v.nullish(writeId),
      retry: v.pipe(
        v.nullish(v.boolean()),
        v.description(
          'This write may have arrived before. If it was refused then, it is refused again, because later writes may have been accepted',
        ),
      ),
    }),
    result: v.object({
      accepted: v.boolean(),
      status: v.picklist(['accepted', 'unknownProcess', 'stdinClosed', 'starting']),
    }),
  },
  'process/closeStdin': {
    family: 'session',
    summary: 'Ends stdin after the bytes already written: closes a pipe, or sends a terminal its end-of-file character.',
    params: v.object(byProcessId),
    result: v.object({ status: v.picklist(['closed', 'alreadyClosed']) }),
  },
  'process/resize': {
    family: 'session',
    summary: 'Sets the size of the terminal; its foreground processes get SIGWINCH.',
    params: v.object({ ...byProcessId, size }),
    result: empty,
  },
  'process/signal': {
    family: 'session',
    summary: 'Sends one signal to the process group. Unknown and ended processes are not an error.',
    params: v.object({
      ...byProcessId,
      signal: v.pipe(shortName, v.description('A POSIX name such as SIGINT or INT, or "interrupt"')),
    }),
    result: v.object({ delivered: v.boolean() }),
  },
  'process/terminate': {
    family: 'session',
    summary:
      'Ends the whole process tree: SIGTERM, then SIGKILL after the grace. Replies at once; closed follows when the tree is gone.',
    params: v.object({
      ...byProcessId,
      force: v.pipe(v.nullish(v.boolean()), v.description('true: SIGKILL at once')),
      timeoutMs: v.pipe(v.nullish(limit), v.description('Grace before SIGKILL; `forceAfterMs`, by default 2000, when absent')),
    }),
    result: v.object({ running: v.boolean() }),
  },
  'process/wait': {
    family: 'session',
    summary: 'Waits for the process to end. If timeoutMs passes first, the reply has running: true, and the process continues.',
    params: v.object({
      ...byProcessId,
      timeoutMs: v.pipe(v.nullish(limit), v.description('No limit when absent')),
      until: v.pipe(
        v.nullish(v.picklist(['exited', 'closed', 'stdoutEnded'])),
        v.description(
          'What to wait for; exited when absent. stdoutEnded: all copies of the stdout have been closed, or the process has exited; if the reply has no ending, the process is still running without a stdout',
        ),
      ),
    }),
    result: v.object({ running: v.boolean(), ending: v.optional(ending) }),
  },
  'process/snapshot': {
    family: 'session',
    summary: 'Returns the retained head and tail of each stream.',
    params: v.object(byProcessId),
    result: snapshot,
  },
  'process/list': {
    family: 'session',
    summary: 'Lists the processes of the session: running ones, and ended ones that are still readable.',
    params: v.nullish(
      optionalMembers({
        scope: v.pipe(
          v.nullish(v.picklist(['session', 'all'])),
          v.description('all: include the processes of the caller’s other sessions, each with its sessionId'),
        ),
      }),
    ),
    result: v.object({ processes: v.array(processStatus) }),
  },
  'process/attach': {
    family: 'connection',
    summary: 'Lets this connection watch or drive a process. Connections of other sessions never slow it down, and see gaps.',
    params: attachParams,
    result: v.object({
      process: processStatus,
      role: v.picklist(['watch', 'drive']),
      afterBytes: v.pipe(seq, v.description('Bytes of all streams up to and including afterSeq, including missing ones')),
    }),
  },
  'process/detach': {
    family: 'connection',
    summary: 'Stops sending a process’s notifications to this connection.',
    params: v.object(byProcessId),
    result: empty,
  },
  'process/release': {
    family: 'connection',
    summary:
      'Transfers a process of this session to the server: it outlives the session, and the caller’s other connections can attach to it.',
    params: releaseParams,
    result: releaseResult,
  },
  'process/restart': {
    family: 'connection',
    summary:
      'Ends a released process, unless it has already ended, and starts it again under the same id with the same command, working directory, environment, streams, time limits and metadata. Replies when the new process is running.',
    params: restartParams,
    result: v.object({ processId, pid }),
  },
  'process/forget': {
    family: 'session',
    summary: 'Forgets a closed process and its output at once, so that its id is free. Fails if it has not closed.',
    params: v.object(byProcessId),
    result: v.object({ forgotten: v.pipe(v.boolean(), v.description('false: there was no such process')) }),
  },
  'environment/info': {
    family: 'session',
    summary: 'Returns the shell, directories, platform and capabilities of the machine.',
    params: v.nullish(empty),
    result: environmentInfo,
  },
  'environment/status': {
    family: 'session',
    summary: 'Health check. Replies at once, regardless of other work.',
    params: v.nullish(empty),
    result: v.object({ status: v.literal('ready') }),
  },
  'command/exec': {
    family: 'command',
    summary: 'Runs one command and replies when it has ended.',
    params: commandExecParams,
    result: commandExecResult,
  },
  'command/exec/write': {
    family: 'command',
    summary: 'Writes to the stdin of a running command, or closes it.',
    params: commandWriteParams,
    result: empty,
  },
  'command/exec/resize': {
    family: 'command',
    summary: 'Sets the size of a running command’s terminal.',
    params: commandResizeParams,
    result: empty,
  },
  'command/exec/terminate': {
    family: 'command',
    summary: 'Ends a running command.',
    params: v.object(byProcessId),
    result: empty,
  },
  ...fileRequests,
  ...codexFileRequests,
  ...networkRequests,
  ...discoveryRequests,
} as const satisfies Record<string, RequestRow>;

export type Requests = typeof requests;
export type Notifications = typeof notifications;
export type Method = keyof Requests;
export type Params<M extends Method> = v.InferOutput<Requests[M]['params']>;
export type Result<M extends Method> = v.InferOutput<Requests[M]['result']>;
export type Notification<N extends keyof Notifications> = v.InferOutput<Notifications[N]['params']>;

/** The events of one process, in order of `seq`. `closed` is always the last. */
export type ProcessEvent =
  | ({ readonly type: 'output' } & Notification<'process/output'>)
  | ({ readonly type: 'exited' } & Notification<'process/exited'>)
  | ({ readonly type: 'closed' } & Notification<'process/closed'>);
