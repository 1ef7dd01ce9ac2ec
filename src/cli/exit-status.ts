// The exit statuses that a shell sees.

import { constants } from 'node:os';
import type { Ending, SpawnFailure } from '../protocol/index.js';

/** Sluice itself could not do what was asked: wrong usage, a server that is lost or refuses, output that cannot be written. */
export const ownFailure = 125;

/** As in timeout(1). */
export const timedOut = 124;

/** As if SIGPIPE had ended us: the reader of our stdout is gone. */
export const stdoutGone = 141;

export function exitStatus(ending: Ending): number {
  if (ending.reason === 'timedOut' || ending.reason === 'idleTimedOut') return timedOut;
  switch (ending.kind) {
    case 'code':
      return ending.code;
    case 'signal':
      return signalStatus(ending.signal);
    case 'lost':
      return ownFailure;
  }
}

/** For a command that never ran. */
export function failureStatus(failure: SpawnFailure): number {
  switch (failure) {
    case 'programNotFound':
      return 127;
    case 'notExecutable':
    case 'permissionDenied':
      return 126;
    case 'cwdNotFound':
    case 'cwdNotDirectory':
    case 'badArgument':
    case 'outOfResources':
      return ownFailure;
  }
}

/** As if this signal had ended us. */
export function signalStatus(name: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return 128 + (numbers[name] ?? 0);
}
