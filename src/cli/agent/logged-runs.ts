// Where the logs of runs are, and runs that are logged there.

import { homedir } from 'node:os';
import path from 'node:path';
import { type AgentOptions, startAgent } from '../../runner/index.js';
import { whyUnwritable } from '../unwritable.js';

export function logFolder(flags: { readonly 'log-dir': string | undefined }): string {
  const state = () => process.env['XDG_STATE_HOME'] ?? path.join(homedir(), '.local', 'state');
  return path.resolve(flags['log-dir'] ?? path.join(state(), 'sluice', 'runs'));
}

/** Without the log that was asked for there is no run. The file system's error does not say what helps, so the flag is named. */
export function startLogged(options: AgentOptions): ReturnType<typeof startAgent> {
  try {
    return startAgent(options);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const problem = whyUnwritable(options.logDir ?? '', error);
    throw new Error(`the run cannot be logged (${problem}); name another folder with --log-dir`, { cause: error });
  }
}
