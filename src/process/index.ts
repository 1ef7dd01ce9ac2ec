// What the server uses of the process code.

export type {
  Backend,
  BackendOptions,
  Child,
  ChildEvents,
  ChildInput,
  ProcessTree,
  ProgramSettings,
  ResolvedCommand,
  TreeLook,
  TreeMember,
  WaitStatus,
} from './child.js';
export { childEnvironment } from './start/environment.js';
export { LazyBackend } from './start/lazy-backend.js';
export type { KeptRequest, RequestLimits } from './start/kept-request.js';
export type { LogReader, Position, Settlement, Taken } from './output/log-reader.js';
export type { ManagedProcess } from './managed-process.js';
export type { ByteCounter, ProcessLimits, ProcessOptions } from './process-options.js';
export type { LogEntry } from './output/log-entries.js';
export type { LogPage, OutputLog, Retention } from './output/output-log.js';
export { type MoveOptions, ProcessTable, type StartOnce, type Started, type TableLimits } from './process-table.js';
export { Sandbox, type SandboxOptions, prepareSandboxed } from './sandbox/sandbox.js';
export { parseSignal, signalExitCode } from './end/signals.js';
export { type BackendName, type SpawnSpec, createBackend } from './start/spawn.js';
export type { Sending, StdinLimits, WriteStatus } from './input/stdin-writer.js';
