// How a link reaches its server, and for how long it tries.

import type { Clock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import type { ConnectionState } from './reconnect.js';

export interface RemoteOptions {
  readonly clientName: string;
  readonly clock: Clock;
  /** Patience for the answer to `initialize`. */
  readonly initializeMs: number;
  /** How long to try to come back after a lost connection; 0 for channels that cannot be opened again. */
  readonly reconnectMs: number;
  /** Opens a channel to the same server. */
  readonly open: () => Promise<Channel>;
  /** Whether a failure to open proves that the server, and with it the session, is no more. */
  readonly isGone?: (error: unknown) => boolean;
  readonly onState?: (state: ConnectionState) => void;
  /** What closing the link waits for at last. */
  readonly closed?: () => Promise<unknown>;
}
