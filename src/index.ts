// The front door. A line here is a promise.

import type { RunOptions, RunResult } from './client/index.js';
import { connectInProcess } from './local/index.js';

export {
  Client,
  type ClientEvent,
  type ClientEvents,
  type ConnectOptions,
  type EventsOptions,
  ProcessHandle,
  type RunOptions,
  type RunResult,
  type StartOptions,
} from './client/index.js';
export {
  type LaunchOptions,
  type NodeConnectOptions,
  type StreamPair,
  connect,
  connectInProcess,
  launchServer,
} from './local/index.js';
export { Sandbox, prepareSandboxed } from './process/index.js';
export { type Ending, ExecError, type Io, type SandboxPolicy, isExecError } from './protocol/index.js';

/** Runs one command on this machine and collects what it wrote. Nothing of it is left when the promise settles. */
export async function run(argv: readonly string[], options?: RunOptions): Promise<RunResult> {
  await using client = connectInProcess();
  return await client.run(argv, options);
}
