// What has been learned in the course of a run from its program's output and behaviour.

import type { Ending } from '../protocol/index.js';
import type { AdapterEvent } from './agent-event.js';
import type { PriorSessions } from './prior-sessions.js';
import type { Usage } from './usage.js';

export interface Known {
  /** Session to resume, unless the program turned out not to have it. */
  resume?: string;
  sessionId?: string;
  usage?: Usage;
  /** The last text for people that the last process wrote. */
  lastWords?: string;
  note?: string;
  priorSessions?: PriorSessions;
  exit?: Ending;
  /**
   * How far the program got. `printed`: it wrote text that its adapter did not understand. `started`: it has a session, has produced or
   * answered something, or was running when a prompt could not be written to it.
   */
  progress: 'none' | 'printed' | 'started';
  /** The last process did not exit on its own in time and was terminated, so its exit status is our doing. */
  hasOverstayed?: boolean;
  /** The server is permanently unreachable, whether or not the program had started. */
  isServerLost?: boolean;
}

/** Records what an event reveals. */
export function learn(known: Known, event: AdapterEvent): void {
  switch (event.type) {
    case 'session':
      known.sessionId = event.sessionId;
      known.progress = 'started';
      break;
    case 'usage':
      known.usage = event.usage;
      break;
    case 'raw':
      if (event.stream === 'stdout' && known.progress === 'none') known.progress = 'printed';
      break;
    case 'text':
    case 'thinking':
    case 'toolCall':
    case 'toolResult':
    case 'permission':
      known.progress = 'started';
      break;
    case 'turnEnded': // the turn handles these
    case 'retry':
    case 'rateLimit':
    case 'permissionWithdrawn':
    case 'status':
      break;
  }
}
