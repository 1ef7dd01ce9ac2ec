// What became known in the course of a run, by what its program said and did.

import type { Ending } from '../protocol/index.js';
import type { AdapterEvent } from './agent-event.js';
import type { PriorSessions } from './prior-sessions.js';
import type { Usage } from './usage.js';

export interface Known {
  /** Session to go on with, unless the program turned out not to have it. */
  resume?: string;
  sessionId?: string;
  usage?: Usage;
  /** What the last process wrote last that was text for people. */
  lastWords?: string;
  note?: string;
  priorSessions?: PriorSessions;
  exit?: Ending;
  /**
   * How far the program has come. `printed`: it has written text that its adapter did not understand. `started`: it has a session, has said
   * or answered something, or ran when a prompt could not be written to it.
   */
  progress: 'none' | 'printed' | 'started';
  /** The last process did not exit by itself once it could, and was ended: its exit is our doing. */
  hasOverstayed?: boolean;
  /** The server is out of reach for good, with the program started or not. */
  isServerLost?: boolean;
}

/** Takes note of what the program said. */
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
    case 'turnEnded': // the turn judges these
    case 'retry':
    case 'rateLimit':
    case 'permissionWithdrawn':
    case 'status':
      break;
  }
}
