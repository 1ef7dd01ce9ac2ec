// Sends `initialize` over a channel and returns the server. The link always sees a Sluice server, even if another kind has answered.

import * as v from 'valibot';
import type { Clock } from '../base/clock.js';
import { rpcCodes } from '../base/rpc-codes.js';
import {
  type FlowFrame,
  type ProcessEvent,
  type Result,
  asSessionId,
  decodeFlowFrame,
  decodeOutputFrame,
  notifications,
  requests,
} from '../protocol/index.js';
import type { Channel } from '../rpc/channel.js';
import { Connection } from '../rpc/connection.js';
import type { FlowPeer } from '../rpc/flow.js';
import type { LinkListeners, OutputDelta } from './exec-link.js';

/** A notification from the server. */
export type ServerNotification =
  | { readonly kind: 'event'; readonly event: ProcessEvent }
  | { readonly kind: 'delta'; readonly delta: OutputDelta }
  | { readonly kind: 'flow'; readonly deliver: (peer: FlowPeer) => void }
  | { readonly kind: 'other'; readonly deliver: (listeners: Partial<LinkListeners>) => void };

export interface GreetOptions {
  readonly clock: Clock;
  /** How long to wait for the answer. */
  readonly initializeMs: number;
  /** The parameters of `initialize`. */
  readonly greeting: object;
  /** Called with undefined for a notification that this client does not know. */
  readonly onNotification: (notification: ServerNotification | undefined) => void;
}

export interface GreetedServer {
  readonly server: Pick<Connection, 'call' | 'notify' | 'close' | 'closed' | 'channel'>;
  readonly greeted: Pick<Result<'initialize'>, 'sessionId' | 'forgotten' | 'lastSeqs' | 'flows'>;
  /** A server of another kind does not keep what this client would need to reconnect. */
  readonly kind: 'sluice' | 'other';
}

/** Far above what a server ever sends; the client need not protect itself from its own server. */
const limits = { maxInFlight: 16, jsonDepth: 1_000, jsonValues: 10_000_000 };

/** Closes the channel when it rejects. */
export async function greetServer(channel: Channel, options: GreetOptions): Promise<GreetedServer> {
  const { clock, initializeMs, greeting, onNotification } = options;
  const connection = new Connection(channel, limits, clock);
  let handle = (method: string, params: unknown): void => onNotification(parseNotification(method, params));
  connection.serve({
    request: (method) => Promise.reject(new Error(`the client does not implement ${method}`)),
    notification: (method, params) => handle(method, params),
    binary: (frame) => onNotification(parseFrame(frame)),
    errorBody: (error) => ({ code: rpcCodes.methodNotFound, message: String(error) }),
  });
  try {
    const result = await connection.call('initialize', greeting, initializeMs);
    if (isFromSluice(result)) {
      return { server: connection, greeted: v.parse(requests.initialize.result, result), kind: 'sluice' };
    }
    const { PlainServer } = await import('./plain-server.js');
    const onEvent = (event: ProcessEvent): void => onNotification({ kind: 'event', event });
    const server = new PlainServer(connection, { greeting: result, clock, onEvent });
    handle = (method, params) => server.onNotification(method, params);
    return { server, greeted: { sessionId: asSessionId(server.sessionId) }, kind: 'other' };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Every Sluice server sends the agreed capabilities, and no other server does. */
function isFromSluice(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'capabilities' in result;
}

function parseNotification(method: string, params: unknown): ServerNotification | undefined {
  switch (method) {
    case 'process/output':
      return { kind: 'event', event: { type: 'output', ...v.parse(notifications[method].params, params) } };
    case 'process/exited':
      return { kind: 'event', event: { type: 'exited', ...v.parse(notifications[method].params, params) } };
    case 'process/closed':
      return { kind: 'event', event: { type: 'closed', ...v.parse(notifications[method].params, params) } };
    case 'command/exec/outputDelta':
      return { kind: 'delta', delta: v.parse(notifications[method].params, params) };
    case 'flow/data':
      return flowData(v.parse(notifications[method].params, params));
    case 'flow/ack': {
      const { flowId, offset } = v.parse(notifications[method].params, params);
      return { kind: 'flow', deliver: (peer) => peer.acknowledge(flowId, offset) };
    }
    case 'flow/end': {
      const { flowId, offset } = v.parse(notifications[method].params, params);
      return { kind: 'flow', deliver: (peer) => peer.end(flowId, offset) };
    }
    case 'flow/reset': {
      const { flowId, problem } = v.parse(notifications[method].params, params);
      return { kind: 'flow', deliver: (peer) => peer.reset(flowId, problem) };
    }
    case 'files/changed': {
      const changed = v.parse(notifications[method].params, params);
      return { kind: 'other', deliver: (listeners) => listeners.filesChanged?.(changed) };
    }
    case 'ports/changed': {
      const changed = v.parse(notifications[method].params, params);
      return { kind: 'other', deliver: (listeners) => listeners.portsChanged?.(changed) };
    }
    default:
      return undefined;
  }
}

function parseFrame(frame: Uint8Array): ServerNotification | undefined {
  const data = decodeFlowFrame(frame);
  if (data !== undefined) return flowData(data);
  const output = decodeOutputFrame(frame);
  return output === undefined ? undefined : { kind: 'event', event: { type: 'output', ...output } };
}

function flowData({ flowId, offset, chunk }: FlowFrame): ServerNotification {
  return { kind: 'flow', deliver: (peer) => void peer.data(flowId, offset, chunk) };
}
