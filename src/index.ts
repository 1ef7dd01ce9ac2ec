// The front door. A line here is a promise.

import type { RunOptions, RunResult } from './client/index.js';
import { connectInProcess } from './local/index.js';

export {
  type Attached,
  type AttachOptions,
  type BinaryParts,
  type Channel,
  type ChannelEnd,
  type ChannelListener,
  Client,
  type Clock,
  type CollectOptions,
  type Collected,
  type CollectedStream,
  type ConnectOptions,
  type ConnectionState,
  type EventSource,
  type ExecLink,
  type ExecOptions,
  type ExecOutput,
  type ExecResult,
  type Input,
  type Joined,
  type Line,
  type LinesOptions,
  type ListOptions,
  type MessageParts,
  type OutputChunk,
  type OutputDelta,
  type PendingExec,
  ProcessHandle,
  type ReadOptions,
  type RunOptions,
  type RunResult,
  type SplitLine,
  type StartOptions,
  type TerminateOptions,
  type Timeouts,
  type Timer,
  type TokenSource,
} from './client/index.js';
export { type LaunchOptions, type NodeConnectOptions, connect, connectInProcess, launchServer } from './local/index.js';
export { Sandbox, type SandboxOptions, type SpawnSpec, prepareSandboxed } from './process/index.js';
export {
  type CommandMethod,
  type CommandService,
  type EndReason,
  type Ending,
  type EnvPolicy,
  type EnvironmentInfo,
  type ErrorData,
  type ErrorName,
  type ErrorTable,
  ExecError,
  type ExecService,
  type Io,
  type Method,
  type Notification,
  type Notifications,
  type Page,
  type Params,
  type PreparedSpec,
  type ProcessEvent,
  type ProcessId,
  type ProcessStatus,
  type Requests,
  type ResourceUse,
  type Result,
  type SandboxPolicy,
  type Seq,
  type SessionMethod,
  type Size,
  type Snapshot,
  type Stream,
  isExecError,
} from './protocol/index.js';

/** Runs one command on this machine and collects what it wrote. Nothing of it is left when the promise settles. */
export async function run(argv: readonly string[], options?: RunOptions): Promise<RunResult> {
  await using client = connectInProcess();
  return await client.run(argv, options);
}
