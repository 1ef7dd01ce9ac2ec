// How a link reaches its server, and how long it tries.

import type { Clock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import type { ConnectionState } from './reconnect.js';

export interface RemoteOptions {
  readonly clientName: string;
  readonly clock: Clock;
  /** How long to wait for the answer to `initialize`. */
  readonly initializeMs: number;
  /** How long to try to reconnect after a lost connection; 0 for channels that cannot be reopened. */
  readonly reconnectMs: number;
  /** Opens a channel to the same server. */
  readonly open: () => Promise<Channel>;
  /** Whether a failure to open proves that the server, and with it the session, no longer exists. */
  readonly isGone?: (error: unknown) => boolean;
  readonly onState?: (state: ConnectionState) => void;
  /** Awaited last when the link is closed. */
  readonly closed?: () => Promise<unknown>;
}
