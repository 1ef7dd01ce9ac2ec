// How the outcome of a run looks to a shell.

import type { Outcome } from '../../runner/index.js';
import { ownFailure, timedOut } from '../exit-status.js';

export function outcomeStatus({ kind }: Outcome): number {
  switch (kind) {
    case 'completed':
      return 0;
    case 'failed':
      return 1;
    case 'interrupted':
      return 130;
    case 'idleTimedOut':
    case 'timedOut':
      return timedOut;
    case 'rateLimited':
      return 75; // as sysexits.h has it: try again later
    case 'neverStarted':
    case 'lost':
      return ownFailure;
  }
}
