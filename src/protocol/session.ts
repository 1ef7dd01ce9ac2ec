// The words about sessions and the machine behind them.

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
  serverPid: v.pipe(v.optional(v.pipe(v.number(), v.integer())), v.description('Of the server, on its machine')),
  capabilities: mapOf(v.boolean()),
});
export type EnvironmentInfo = v.InferOutput<typeof environmentInfo>;

export const initializeParams = v.object({
  clientName: shortName,
  resumeSessionId: v.pipe(
    v.nullish(shortName),
    v.description('Present, null included: the session survives a lost connection. A value: resume that session'),
  ),
  takeover: v.pipe(v.nullish(v.boolean()), v.description('Resume the session even while another connection holds it')),
  cursors: v.pipe(
    v.nullish(mapOf(seq)),
    v.description(
      'When resuming: the last number seen of each process; its events go on after that. Without an entry they go on live',
    ),
  ),
  capabilities: v.pipe(
    v.nullish(
      optionalMembers({
        binaryOutput: v.pipe(v.nullish(v.boolean()), v.description('Output may come as binary frames')),
        acks: v.pipe(
          v.nullish(v.boolean()),
          v.description('The client sends process/ack; what it has not acknowledged is kept for it, also while it is away'),
        ),
        startEvents: v.pipe(
          v.nullish(v.boolean()),
          v.description(
            'process/started and process/failed are sent; without it they are not, because other clients do not know them',
          ),
        ),
      }),
    ),
    v.description('What the client can do beyond the plain protocol'),
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
      'When resuming: those of the cursors whose processes the session does not know. Nothing more will come of them',
    ),
  ),
  lastSeqs: v.pipe(
    v.optional(mapOf(seq)),
    v.description(
      'When resuming: the last number so far of each process among the cursors. What comes up to it was written while the client was away',
    ),
  ),
});

const owner = v.pipe(v.nullish(shortName), v.description('Session that owns the process; this one when absent'));

export const attachParams = v.object({
  processId,
  sessionId: owner,
  afterSeq: v.pipe(
    v.nullish(seq),
    v.description('Replay what is retained after this number, which the process has come to, then go on live'),
  ),
  afterBytes,
  role: v.pipe(
    v.nullish(v.picklist(['watch', 'drive'])),
    v.description('A driver may write, resize and signal; a watcher only sees'),
  ),
  follow: v.pipe(
    v.nullish(v.boolean()),
    v.description('false: no notifications, only the right to call the methods of the role'),
  ),
});

export const releaseParams = v.object({
  processId,
  replace: v.pipe(
    v.nullish(v.picklist(['ended'])),
    v.description('ended: a closed process that was released under the same id is forgotten for it; refused when absent'),
  ),
  keepMs: v.pipe(
    v.nullish(limit),
    v.description(
      'How long it stays readable once it has closed; 0: it is forgotten at once. As long as the server is set to when absent, which is also the most',
    ),
  ),
});

export const releaseResult = v.object({
  sessionId: v.pipe(v.string(), v.description('The session that owns it from now on')),
  replaced: v.pipe(v.optional(v.boolean()), v.description('true when an ended process was forgotten for it')),
});

export const restartParams = v.object({
  processId,
  sessionId: owner,
  timeoutMs: v.pipe(
    v.nullish(limit),
    v.description('Grace between SIGTERM and SIGKILL; what the process was started with when absent'),
  ),
});
