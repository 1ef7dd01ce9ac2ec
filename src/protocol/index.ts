// The public protocol API of Sluice. Every export is a compatibility promise.

export { decodeBase64, encodeBase64 } from '../base/base64.js';
export type { SandboxPolicy } from './command.js';
export {
  type ErrorData,
  type ErrorName,
  type ErrorTable,
  ExecError,
  type FileProblem,
  type Row as ErrorRow,
  errorTable,
  execError,
  isAnyExecError,
  isExecError,
} from './errors.js';
export type { FileChange, FileEntry, FileStatus, TreeResult } from './files.js';
export {
  type FlowFrame,
  decodeFlowFrame,
  flowAcknowledgeBytes,
  flowFrameBytes,
  flowFrameHead,
  flowWindowBytes,
} from './flows.js';
export { type ProcessId, type Seq, type SessionId, asProcessId, asSessionId, isProcessId } from './ids.js';
export {
  type Method,
  type Notification,
  type Notifications,
  type Params,
  type ProcessEvent,
  type Requests,
  type Result,
  requests,
} from './methods.js';
export type { ListeningPort } from './network.js';
export { acknowledgeEveryBytes, notifications } from './notifications.js';
export { type Output as OutputFrame, OutputFrameHeads, decodeOutputFrame } from './output-frame.js';
export type {
  Chunk,
  EndReason,
  Ending,
  EnvPolicy,
  Io,
  Page,
  PreparedSpec,
  ProcessStatus,
  ResourceUse,
  RetainedStream,
  Size,
  Snapshot,
  SpawnFailure,
  StartParams,
  Stream,
} from './process.js';
export {
  type CommandMethod,
  type CommandService,
  type ConnectionMethod,
  type ConnectionService,
  type ExecService,
  type ServiceOf,
  type SessionMethod,
  isCommandMethod,
  isMethod,
  isSessionMethod,
} from './services.js';
export type { SandboxContext } from './sandbox-context.js';
export type { EnvironmentInfo } from './session.js';
export { protocolVersion } from './version.js';
