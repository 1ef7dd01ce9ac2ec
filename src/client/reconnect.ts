// Reconnecting after a lost connection: how long to try, and when further attempts are useless.

import type { Clock } from '../base/clock.js';
import { ConnectionClosedError, RpcError } from '../rpc/rpc-error.js';

/** The state of a client's connection, for programs that display it. */
export type ConnectionState =
  /** The client tries to reconnect for at most `retryMs`; handles and calls wait. */
  | { readonly kind: 'lost'; readonly problem: string; readonly retryMs: number }
  | { readonly kind: 'back' }
  /** Closed locally, or given up; `Client.ended` has the reason. */
  | { readonly kind: 'over' };

/** Pause between two attempts. */
const retryMs = 100;

export interface ReconnectOptions {
  readonly clock: Clock;
  readonly reconnectMs: number;
  readonly connect: () => Promise<void>;
  /** Whether a failure to open proves that the server, and with it the session, no longer exists. */
  readonly isGone?: (error: unknown) => boolean;
  /** Whether the client has been closed. */
  readonly isClosed: () => boolean;
}

/** Resolves with undefined when reconnected or when the client was closed, otherwise with the reason for giving up. */
export async function reconnect({
  clock,
  reconnectMs,
  connect,
  isGone = () => false,
  isClosed,
}: ReconnectOptions): Promise<string | undefined> {
  const deadline = clock.elapsed() + reconnectMs;
  while (!isClosed()) {
    try {
      await connect();
      return undefined;
    } catch (error) {
      if (isUseless(error) || isGone(error) || clock.elapsed() >= deadline) {
        return error instanceof Error ? error.message : String(error);
      }
    }
    await new Promise<void>((resolve) => clock.after(retryMs, resolve));
  }
  return undefined;
}

/** A server that answered and refused us would refuse again, and one that closed with a goodbye is gone. */
function isUseless(error: unknown): boolean {
  return error instanceof RpcError || (error instanceof ConnectionClosedError && error.isFinal);
}
