// The public server. A line here is a promise.

export { type CommandStarted, Commands, type TellOutput } from './commands.js';
export { type ExecPolicy, type ServerLimits, defaultLimits, defaultPolicy } from './config.js';
export { createExecService } from './exec-service.js';
export { FrontDoor, type FrontDoorOptions } from './front-door.js';
export { createLogger } from './logger.js';
export { ServerMetrics } from './metrics.js';
export { Server, type ServerOptions } from './server.js';
export { type EventCursor, Session, type SessionContext } from './session.js';
export type { Identity } from './session-table.js';
export { SessionWatch } from './session-watch.js';
export type { Surroundings } from './start-request.js';
export { version } from './version.js';
export { EndpointError, type ListenEndpoint, formatEndpoint, parseListenUrl } from '../transport/endpoint.js';
export type { StreamPair } from '../transport/stream-pair.js';
