// The process room's front door, for the server.

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
export { childEnvironment } from './environment.js';
export { LazyBackend } from './lazy-backend.js';
export type { KeptRequest, RequestLimits } from './kept-request.js';
export type { LogReader, Position, Settlement, Taken } from './log-reader.js';
export type { ManagedProcess } from './managed-process.js';
export type { ByteCounter, ProcessLimits, ProcessOptions } from './process-options.js';
export type { LogEntry, LogPage, OutputLog, Retention } from './output-log.js';
export { type MoveOptions, ProcessTable, type StartOnce, type Started, type TableLimits } from './process-table.js';
export { Sandbox, type SandboxOptions, prepareSandboxed } from './sandbox.js';
export { parseSignal, signalExitCode } from './signals.js';
export { type BackendName, type SpawnSpec, createBackend } from './spawn.js';
export type { Sending, StdinLimits, WriteStatus } from './stdin-writer.js';
