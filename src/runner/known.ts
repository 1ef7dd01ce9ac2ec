// What became known in the course of a run, by what its program said and did.

import type { Ending } from '../protocol/index.js';
import type { AdapterEvent } from './agent-event.js';
import type { PriorSessions } from './prior-sessions.js';
import type { Usage } from './usage.js';

export interface Known {
  sessionId?: string;
  usage?: Usage;
  /** The last problem that the program reported in the last turn. */
  problem?: string;
  /** What the last process wrote last that was text for people. */
  lastWords?: string;
  note?: string;
  priorSessions?: PriorSessions;
  exit?: Ending;
  /** It has ended a turn: a program without sessions has started too. */
  hasAnswered?: boolean;
  /** It has said something that its adapter understood. */
  hasSpoken?: boolean;
  /** It has written something else to its stdout. */
  hasPrinted?: boolean;
  /** The last process did not exit by itself once it could, and was ended: its exit is our doing. */
  hasOverstayed?: boolean;
  lastTurn?: { readonly isError: boolean };
  /** The caller interrupted the last turn. */
  wasInterrupted?: boolean;
  /** The program ran, and the prompt could not be written to it. */
  isPromptUndelivered?: boolean;
  /** The server is out of reach for good, with the program started or not. */
  isServerLost?: boolean;
}

/** Takes note of what the program said. */
export function learn(known: Known, said: AdapterEvent): void {
  switch (said.type) {
    case 'session':
      known.sessionId = said.sessionId;
      break;
    case 'usage':
      known.usage = said.usage;
      break;
    case 'retry':
      known.problem = said.problem;
      break;
    case 'raw':
      if (said.stream === 'stdout') known.hasPrinted = true;
      break;
    case 'text':
    case 'thinking':
    case 'toolCall':
    case 'toolResult':
    case 'permission':
      known.hasSpoken = true;
      break;
    case 'turnEnded': // the run judges it first
    case 'rateLimit':
    case 'permissionWithdrawn':
    case 'status':
      break;
  }
}
