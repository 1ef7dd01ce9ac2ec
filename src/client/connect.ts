// Turns a function that opens channels into a connected client. The caller decides where the channels come from.

import { type Clock, systemClock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { Client } from './client.js';
import type { Platform } from './platform.js';
import type { ConnectionState } from './reconnect.js';
import { RemoteLink } from './remote-link.js';
import type { TokenSource } from './token.js';

export interface Timeouts {
  /** For opening a connection. */
  readonly connectMs: number;
  /** For the server's answer to `initialize`. */
  readonly initializeMs: number;
  /** How long to try to reconnect after a lost connection. Less than the time a server keeps a disconnected session. */
  readonly reconnectMs: number;
}

/** `initializeMs` is half a minute because a launched server must be found, loaded and started, on a busy machine or via ssh or npx. */
export const defaultTimeouts: Timeouts = { connectMs: 10_000, initializeMs: 30_000, reconnectMs: 25_000 };

export interface ConnectOptions {
  /**
   * Sent as `Authorization: Bearer`. A function is called for the first connection, and again whenever the server answers 401. If it
   * returns the same token, or one that is refused too, the client ends. In browsers, which do not report a 401, it is called for every
   * connection.
   */
  readonly token?: TokenSource;
  /** Shown in the server's log. */
  readonly clientName?: string;
  readonly timeouts?: Partial<Timeouts>;
  /** Called when the connection is lost, when it is restored, and when the client has ended. Must not throw. */
  readonly onConnection?: (state: ConnectionState) => void;
  readonly clock?: Clock;
}

/** How to reach the server: `again` says whether a lost connection can be replaced by opening another. */
export interface Route {
  readonly open: () => Promise<Channel>;
  readonly again: 'possible' | 'impossible';
  /** Whether a failure to open proves that the server, and with it the session, no longer exists, so that retrying is useless. */
  readonly isGone?: (error: unknown) => boolean;
  /** Awaited last when the client is closed, such as for the exit of a launched server. */
  readonly closed?: () => Promise<unknown>;
}

/** Rejects when the server cannot be reached or does not answer in time. Without a platform, the client cannot use its own machine. */
export async function connectOver(route: Route, options: ConnectOptions = {}, platform?: Platform): Promise<Client> {
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
  return new Client(link, { clock, platform });
}
