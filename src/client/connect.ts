// A way to open channels -> a greeted client. Where the channels come from is the caller's business.

import { type Clock, systemClock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { Client } from './client.js';
import type { ConnectionState } from './reconnect.js';
import { RemoteLink } from './remote-link.js';
import type { TokenSource } from './token.js';

export interface Timeouts {
  /** Until a connection is open. */
  readonly connectMs: number;
  /** Until the server has answered the greeting. */
  readonly initializeMs: number;
  /** How long to try to come back after a lost connection. Less than the server keeps a session waiting. */
  readonly reconnectMs: number;
}

/** A server that is launched has to be found, loaded and started first, on a busy machine or through ssh or npx: half a minute. */
export const defaultTimeouts: Timeouts = { connectMs: 10_000, initializeMs: 30_000, reconnectMs: 25_000 };

export interface ConnectOptions {
  /**
   * Sent as `Authorization: Bearer`. A function is asked for the first connection, and once more whenever the server answers 401; the same
   * token again, or another that is refused, ends the client. In a browser, which does not tell a 401, it is asked for every connection.
   */
  readonly token?: TokenSource;
  /** Shown in the server's log. */
  readonly clientName?: string;
  readonly timeouts?: Partial<Timeouts>;
  /** Called when the connection is lost, when it is back, and when the client is over. Must not throw. */
  readonly onConnection?: (state: ConnectionState) => void;
  readonly clock?: Clock;
}

/** How to reach the server: `again` tells whether a lost connection can be replaced by opening another. */
export interface Route {
  readonly open: () => Promise<Channel>;
  readonly again: 'possible' | 'impossible';
  /** Whether a failure to open proves that the server, and with it the session, is no more: trying on would be in vain. */
  readonly isGone?: (error: unknown) => boolean;
  /** What closing the client waits for at last, such as the end of a launched server. */
  readonly closed?: () => Promise<unknown>;
}

/** Rejects when the server cannot be reached or does not answer in time. */
export async function connectOver(route: Route, options: ConnectOptions = {}): Promise<Client> {
  const clock = options.clock ?? systemClock;
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const link = await RemoteLink.open({
    clientName: options.clientName ?? 'sluice',
    clock,
    initializeMs: timeouts.initializeMs,
    reconnectMs: route.again === 'possible' ? timeouts.reconnectMs : 0,
    open: route.open,
    ...(route.isGone === undefined ? {} : { isGone: route.isGone }),
    ...(options.onConnection === undefined ? {} : { onState: options.onConnection }),
    ...(route.closed === undefined ? {} : { closed: route.closed }),
  });
  return new Client(link, { clock });
}
