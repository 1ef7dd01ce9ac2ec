// A group of methods whose code is loaded when one of them is first called, such as everything about files.

import type { ConnectionMethod, Notification, Params, Result } from '../../protocol/index.js';
import type { Flow } from '../../rpc/flow.js';
import type { Session } from '../session.js';
import type { Identity, SessionTable } from '../session-table.js';
import type { Metrics } from '../metrics.js';
import type { Machine } from './machine.js';

/** Registers an action to run once the reply has been sent. */
export type AfterReply = (act: () => void) => void;

/** Sends a notification to the caller; each resolves when the caller is ready for more. */
export interface Notify {
  outputDelta(delta: Notification<'command/exec/outputDelta'>): Promise<void>;
  filesChanged(changed: Notification<'files/changed'>): Promise<void>;
  portsChanged(changed: Notification<'ports/changed'>): Promise<void>;
  missingChanged(changed: Notification<'fs/missingChanged'>): Promise<void>;
  bodyDelta(delta: Notification<'http/request/bodyDelta'>): Promise<void>;
  /** Sends nothing; resolves when the caller has taken what was sent before, or is gone. */
  nothing(): Promise<void>;
}

/** Methods whose bytes travel in a flow, which is opened when the call arrives. */
export type FlowMethod = 'files/read' | 'files/write' | 'files/download' | 'files/upload' | 'ports/open';

/** Typed so that a method in the table without a handler does not compile. */
export type HandlersOf<Name extends ConnectionMethod> = {
  readonly [M in Exclude<Name, FlowMethod>]: (params: Params<M>, afterReply: AfterReply) => Promise<Result<M>>;
};

/** If one throws, its flow is reset. */
export type FlowHandlersOf<Name extends FlowMethod> = {
  readonly [M in Name]: (params: Params<M>, flow: Flow) => Promise<Result<M>>;
};

/** The methods of one connection whose names begin with one word. */
export interface CallGroup<Name extends ConnectionMethod> {
  readonly calls: HandlersOf<Name>;
  readonly flowCalls: FlowHandlersOf<Extract<Name, FlowMethod>>;
  /** The caller has disconnected: closes everything that the group opened for it, except flows, which belong to the session. */
  end(): void;
}

export interface CallContext {
  readonly session: Session;
  readonly sessions: SessionTable;
  readonly identity: Identity;
  readonly machine: Machine;
  readonly metrics: Metrics;
  readonly notify: Notify;
}

/** The methods that begin with a word and a slash. */
export type MethodsOf<Word extends string> = Extract<ConnectionMethod, `${Word}/${string}`>;
