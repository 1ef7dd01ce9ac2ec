// The public client; runs in a browser as well as in Node. A line here is a promise.

export { Client, type StartOptions } from './client.js';
export { type ConnectOptions, type Timeouts, connectOver, defaultTimeouts } from './connect.js';
export { connectWebSocket } from './connect-websocket.js';
export type { CollectOptions, Collected } from './collect-until.js';
export type { EventSource, ExecLink } from './exec-link.js';
export { LineSplitter, type SplitLine } from './line-splitter.js';
export type { OutputChunk } from './output-queue.js';
export { type Line, type LinesOptions, ProcessHandle, type TerminateOptions } from './process-handle.js';
export type { CollectedStream, Input, RunOptions, RunResult } from './run.js';
