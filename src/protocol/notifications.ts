// THE table, continued: every notification with its schema.

import * as v from 'valibot';
import { outputDelta } from './command.js';
import { processId, seq } from './ids.js';
import { optionalMembers } from './map.js';
import { closedEvent, exitedEvent, failedEvent, outputEvent, startedEvent } from './process.js';

/**
 * A client sends `process/ack` at the latest when it has taken this many bytes of a process. So a server's window must hold as much: with
 * less, the process and its reader would wait for each other.
 */
export const acknowledgeEveryBytes = 64 * 1024;

interface NotificationRow {
  readonly from: 'client' | 'server';
  readonly summary: string;
  readonly params: v.GenericSchema;
}

export const notifications = {
  initialized: {
    from: 'client',
    summary: 'Completes the handshake; the session’s methods may be used from here on.',
    params: v.nullish(optionalMembers({})),
  },
  'process/ack': {
    from: 'client',
    summary: 'Everything of a process up to this number has been taken. Lets the process go on, and the server forget.',
    params: v.object({ processId, seq }),
  },
  'process/started': {
    from: 'server',
    summary:
      'A process of this session was started; after the reply, before its first output. Sent when `initialize` agreed on `startEvents`.',
    params: startedEvent,
  },
  'process/failed': {
    from: 'server',
    summary:
      'A start failed or was refused; just before the error that answers it. Sent when `initialize` agreed on `startEvents`.',
    params: failedEvent,
  },
  'process/output': { from: 'server', summary: 'Bytes a process wrote; at most 64 KiB.', params: outputEvent },
  'process/exited': {
    from: 'server',
    summary: 'The process ended; everything it wrote itself came before this.',
    params: exitedEvent,
  },
  'process/closed': {
    from: 'server',
    summary: 'Nothing more can come from this process. Always the last event.',
    params: closedEvent,
  },
  'command/exec/outputDelta': { from: 'server', summary: 'Bytes a streamed command wrote.', params: outputDelta },
} as const satisfies Record<string, NotificationRow>;
