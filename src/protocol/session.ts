// Schemas for sessions and for the machine that runs them.

import * as v from 'valibot';
import { limit, processId, seq, sessionId, shortName } from './ids.js';
import { mapOf, optionalMembers } from './map.js';
import { afterBytes } from './process.js';
import { protocolVersion } from './version.js';

export const environmentInfo = v.object({
  shell: v.object({ name: v.string(), path: v.string() }),
  cwd: v.nullable(v.pipe(v.string(), v.description('file: URI'))),
  tempDir: v.pipe(v.string(), v.description('file: URI')),
  temporaryDirectories: v.array(v.string()),
  userHomeDir: v.pipe(v.string(), v.description('file: URI')),
  platformOs: v.string(),
  executorVersion: v.string(),
  serverPid: v.pipe(v.optional(v.pipe(v.number(), v.integer())), v.description('Pid of the server on its machine')),
  capabilities: mapOf(v.boolean()),
});
export type EnvironmentInfo = v.InferOutput<typeof environmentInfo>;

export const initializeParams = v.object({
  clientName: shortName,
  resumeSessionId: v.pipe(
    v.nullish(shortName),
    v.description('When present, even as null, the session survives a lost connection. A string resumes that session'),
  ),
  takeover: v.pipe(v.nullish(v.boolean()), v.description('Resume the session even while another connection holds it')),
  cursors: v.pipe(
    v.nullish(mapOf(seq)),
    v.description(
      'When resuming: the last number seen of each process; its events continue after that. Without an entry, only new events are sent',
    ),
  ),
  flows: v.pipe(
    v.nullish(mapOf(seq)),
    v.description('When resuming: how many bytes of each flow have been received; its data continues after that'),
  ),
  capabilities: v.pipe(
    v.nullish(
      optionalMembers({
        binaryOutput: v.pipe(v.nullish(v.boolean()), v.description('Output and flows may be sent as binary frames')),
        acks: v.pipe(
          v.nullish(v.boolean()),
          v.description(
            'The client sends process/ack; the server keeps what it has not acknowledged, even while it is disconnected',
          ),
        ),
        startEvents: v.pipe(
          v.nullish(v.boolean()),
          v.description('process/started and process/failed are sent. They are opt-in because other clients do not know them'),
        ),
      }),
    ),
    v.description('What the client supports beyond the basic protocol'),
  ),
});

export const initializeResult = v.object({
  protocolVersion: v.literal(protocolVersion),
  sessionId,
  environmentInfo,
  capabilities: v.pipe(mapOf(v.boolean()), v.description('What was agreed: acks, binaryOutput, startEvents')),
  forgotten: v.pipe(
    v.optional(v.array(processId)),
    v.description(
      'When resuming: the process ids in `cursors` that the session does not know. No more events will follow for them',
    ),
  ),
  lastSeqs: v.pipe(
    v.optional(mapOf(seq)),
    v.description(
      'When resuming: the last number so far of each process in `cursors`. Events up to it happened while the client was disconnected',
    ),
  ),
  flows: v.pipe(
    v.optional(mapOf(seq)),
    v.description(
      'When resuming: how many bytes of each flow in `flows` the server has received. A flow that is missing here has ended',
    ),
  ),
});

const owner = v.pipe(v.nullish(shortName), v.description('Session that owns the process; this one when absent'));

export const attachParams = v.object({
  processId,
  sessionId: owner,
  afterSeq: v.pipe(
    v.nullish(seq),
    v.description('Replay retained events after this number, which the process must have reached, then continue live'),
  ),
  afterBytes,
  role: v.pipe(
    v.nullish(v.picklist(['watch', 'drive'])),
    v.description('A driver may write, resize and signal; a watcher only reads. watch when absent'),
  ),
  follow: v.pipe(
    v.nullish(v.boolean()),
    v.description('false: send no notifications, only allow calling the methods of the role'),
  ),
});

export const releaseParams = v.object({
  processId,
  replace: v.pipe(
    v.nullish(v.picklist(['ended'])),
    v.description('ended: forget a closed process that was released under the same id. When absent, such an id is refused'),
  ),
  keepMs: v.pipe(
    v.nullish(limit),
    v.description(
      'How long it stays readable after it has closed; 0: it is forgotten at once. The server’s setting when absent, which is also the maximum',
    ),
  ),
});

export const releaseResult = v.object({
  sessionId: v.pipe(v.string(), v.description('The session that owns the process from now on')),
  replaced: v.pipe(v.optional(v.boolean()), v.description('true when an ended process was forgotten to make way for it')),
});

export const restartParams = v.object({
  processId,
  sessionId: owner,
  timeoutMs: v.pipe(
    v.nullish(limit),
    v.description('Grace between SIGTERM and SIGKILL; the one the process was started with when absent'),
  ),
});
