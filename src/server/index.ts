// The public server API. Every export is a compatibility promise.

export type { Delivery } from './attachment.js';
export { type CommandStarted, Commands, type TellOutput } from './commands.js';
export { type ExecPolicy, type ServerLimits, defaultLimits, defaultPolicy } from './config.js';
export { createExecService } from './exec-service.js';
export { FrontDoor, type FrontDoorOptions } from './front-door.js';
export { type LogSink, type LoggerOptions, type OwnedLogger, createLogger } from './logger.js';
export type { Notify } from './machine/call-group.js';
export type { FilePolicy, MachineLimits, NetworkPolicy } from './machine/machine.js';
export { type Gauges, type Metrics, ServerMetrics } from './metrics.js';
export { Server, type ServerOptions } from './server.js';
export { type EventCursor, type Parked, Session, type SessionContext } from './session.js';
export type { Holder, Identity, SessionLimits, SessionTable } from './session-table.js';
export type { FlowCall, SessionFlows } from './session-flows.js';
export { SessionWatch } from './session-watch.js';
export type { Surroundings } from './start-request.js';
export { version } from './version.js';
export type { Waits } from './waits.js';
export type { CredentialSource, JwtKeySource } from './auth/credentials.js';
export type { JwtRules } from './auth/jwt.js';

// Types that the signatures above refer to.
export type { LogFields, LogLevel, Logger } from '../base/logger.js';
export type {
  Backend,
  BackendName,
  ByteCounter,
  Child,
  ChildEvents,
  ChildInput,
  KeptRequest,
  LogEntry,
  LogPage,
  LogReader,
  ManagedProcess,
  MoveOptions,
  OutputLog,
  Position,
  ProcessLimits,
  ProcessOptions,
  ProcessTable,
  ProcessTree,
  ProgramSettings,
  RequestLimits,
  ResolvedCommand,
  Retention,
  Sandbox,
  SandboxOptions,
  Sending,
  Settlement,
  SpawnSpec,
  StartOnce,
  Started,
  StdinLimits,
  TableLimits,
  Taken,
  TreeLook,
  TreeMember,
  WaitStatus,
  WriteStatus,
} from '../process/index.js';
export type { Flow, FlowLimits, FlowPeer } from '../rpc/flow.js';
export type { FlowTable } from '../rpc/flow-table.js';
export type { ConnectionLimits } from '../rpc/connection.js';
export type { JsonLimits } from '../rpc/message.js';
export {
  EndpointError,
  type ListenEndpoint,
  type StdioEndpoint,
  type UnixEndpoint,
  type WebSocketEndpoint,
  formatEndpoint,
  parseListenUrl,
} from '../transport/endpoint.js';
export type { StreamPair } from '../transport/stream-pair.js';
