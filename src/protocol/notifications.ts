// The rest of the protocol table: every notification with its schema.

import * as v from 'valibot';
import { outputDelta } from './command.js';
import { fileChange } from './files.js';
import { flowNotifications } from './flows.js';
import { limit, processId, seq } from './ids.js';
import { optionalMembers } from './map.js';
import { bodyDelta, listeningPort } from './network.js';
import { closedEvent, exitedEvent, failedEvent, outputEvent, startedEvent } from './process.js';

/**
 * A client sends `process/ack` no later than after this many bytes of a process. A server's window must be at least this large; otherwise
 * the process and its reader would wait for each other.
 */
export const acknowledgeEveryBytes = 64 * 1024;

interface NotificationRow {
  readonly from: 'client' | 'server' | 'both';
  readonly summary: string;
  readonly params: v.GenericSchema;
}

export const notifications = {
  initialized: {
    from: 'client',
    summary: 'Completes the handshake; the session’s methods can be used from here on.',
    params: v.nullish(optionalMembers({})),
  },
  'process/ack': {
    from: 'client',
    summary: 'Acknowledges all events of a process up to this number. Lets the process continue and the server discard them.',
    params: v.object({ processId, seq }),
  },
  'process/started': {
    from: 'server',
    summary:
      'A process of this session was started. Sent after the reply and before its first output, if `initialize` agreed on `startEvents`.',
    params: startedEvent,
  },
  'process/failed': {
    from: 'server',
    summary: 'A start failed or was refused. Sent just before the error reply, if `initialize` agreed on `startEvents`.',
    params: failedEvent,
  },
  'process/output': { from: 'server', summary: 'Output of a process; at most 64 KiB.', params: outputEvent },
  'process/exited': {
    from: 'server',
    summary: 'The process ended. Everything it wrote itself was sent before this.',
    params: exitedEvent,
  },
  'process/closed': {
    from: 'server',
    summary: 'No more events will follow for this process. Always the last event.',
    params: closedEvent,
  },
  'command/exec/outputDelta': { from: 'server', summary: 'Output of a streamed command.', params: outputDelta },
  ...flowNotifications,
  'files/changed': {
    from: 'server',
    summary: 'What a watch has noticed, several changes at once. Changes to the same file are merged.',
    params: v.object({
      watchId: limit,
      changes: v.array(fileChange),
      overflow: v.pipe(
        v.optional(v.boolean()),
        v.description('true: changes were lost, and these were found by looking at everything again'),
      ),
      ended: v.pipe(v.optional(v.string()), v.description('The watch has ended, and why')),
    }),
  },
  'fs/missingChanged': {
    from: 'server',
    summary: 'One of the paths of `fs/watchMissing` has appeared or gone. Sent once.',
    params: v.object({ watchId: limit }),
  },
  'http/request/bodyDelta': {
    from: 'server',
    summary: 'A part of the body of a streamed HTTP response, at most 1 MiB; the last has `done: true`.',
    params: bodyDelta,
  },
  'ports/changed': {
    from: 'server',
    summary: 'Processes of the caller have started or stopped to listen.',
    params: v.object({ opened: v.array(listeningPort), closed: v.array(listeningPort) }),
  },
} as const satisfies Record<string, NotificationRow>;
