// Where the logs of runs are, and runs that are logged there.

import { homedir } from 'node:os';
import path from 'node:path';
import { type AgentOptions, type AgentRun, startAgent } from '../../runner/index.js';

export function logFolder(flags: { readonly 'log-dir': string | undefined }): string {
  const state = () => process.env['XDG_STATE_HOME'] ?? path.join(homedir(), '.local', 'state');
  return path.resolve(flags['log-dir'] ?? path.join(state(), 'sluice', 'runs'));
}

/** A log that cannot be begun is a reason not to begin; the error of the file system does not say what to do about it. */
export function startLogged(options: AgentOptions): AgentRun {
  try {
    return startAgent(options);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new Error(`the run cannot be logged (${error.message}); name another folder with --log-dir`, { cause: error });
  }
}
