// The process room's front door, for the server.

export type { Backend, BackendOptions, ProgramSettings } from './child.js';
export { childEnvironment } from './environment.js';
export { LazyBackend } from './lazy-backend.js';
export type { LogReader, Taken } from './log-reader.js';
export type { ByteCounter, ManagedProcess, ProcessOptions } from './managed-process.js';
export type { LogEntry, LogPage } from './output-log.js';
export { ProcessTable, type TableLimits } from './process-table.js';
export { randomBytes, randomUuid } from './random.js';
export { Sandbox, prepareSandboxed } from './sandbox.js';
export { parseSignal, signalExitCode } from './signals.js';
export { type BackendName, type SpawnSpec, createBackend } from './spawn.js';
