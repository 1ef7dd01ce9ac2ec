// The public client, for browsers and Node. Every export is a compatibility promise.

export {
  type AttachOptions,
  Client,
  type ClientOptions,
  type ListOptions,
  type RestartOptions,
  type StartOptions,
} from './client.js';
export { type ConnectOptions, type Route, type Timeouts, connectOver, defaultTimeouts } from './connect.js';
export { connectWebSocket } from './connect-websocket.js';
export type { CollectOptions, Collected } from './collect-until.js';
export type { ClientEvent, ClientEvents, EventsOptions } from './event-feed.js';
export type { Attached, EventSource, ExecLink, LinkListeners, OutputDelta } from './exec-link.js';
export type { ExecOptions, ExecOutput, ExecResult, PendingExec } from './exec.js';
export type { FileContent, RangeOptions } from './file-content.js';
export type { FileSource, ReadableBytes } from './file-flow.js';
export type { TransferOptions, TransferResult } from './file-transfer.js';
export type { FileEvent, FileWatch, WatchOptions } from './file-watch.js';
export type { FileWritten, WriteOptions } from './file-write.js';
export type { FileEntry, Files, Temporary, TemporaryOptions, WalkEntry, WalkOptions } from './files.js';
export type { Input } from './input.js';
export type { Forward, ForwardOptions } from './forward.js';
export { LineSplitter, type SplitLine } from './line-splitter.js';
export type { OutputChunk } from './output-queue.js';
export type {
  DigestEntry,
  LocalFile,
  LocalFiles,
  LocalTreeOptions,
  PackOptions,
  Sha256,
  TransferProgress,
} from './local-files.js';
export type { LocalAddress, LocalConnection, LocalListener, Platform } from './platform.js';
export type { PortEvent } from './port-feed.js';
export type { ConnectionState } from './reconnect.js';
export {
  type Joined,
  type Line,
  type LinesOptions,
  ProcessHandle,
  type ReadOptions,
  type ReleaseOptions,
  type Released,
  type TerminateOptions,
} from './process-handle.js';
export { type CollectedStream, OutputCollector, type RunOptions, type RunResult } from './run.js';
export type { TokenSource } from './token.js';
export type { RemoteAddress, Tunnel } from './tunnel.js';
export type { Clock, Timer } from '../base/clock.js';
export type { BinaryParts, Channel, ChannelEnd, ChannelListener } from '../rpc/channel.js';
export { type Flow, FlowResetError } from '../rpc/flow.js';
export type { MessageParts } from '../rpc/json-parts.js';
export { ConnectionClosedError } from '../rpc/rpc-error.js';
