// Coming back after a lost connection: for how long it is tried, and when to go on trying would be in vain.

import type { Clock } from '../base/clock.js';
import { ConnectionClosedError, RpcError } from '../rpc/rpc-error.js';

/** What a client tells of its connection, for programs that show it to people. */
export type ConnectionState =
  /** It is being opened again, for at most `retryMs`; handles and calls wait meanwhile. */
  | { readonly kind: 'lost'; readonly problem: string; readonly retryMs: number }
  | { readonly kind: 'back' }
  /** Closed from here, or given up: `Client.ended` tells why. */
  | { readonly kind: 'over' };

/** Wait between two tries. */
const retryMs = 100;

export interface Return {
  readonly clock: Clock;
  readonly reconnectMs: number;
  readonly connect: () => Promise<void>;
  /** Whether a failure to open proves that the server, and with it the session, is no more. */
  readonly isGone?: (error: unknown) => boolean;
  /** The client was closed meanwhile. */
  readonly isOver: () => boolean;
}

/** Resolves with undefined when connected again or no longer wanted, else with why it was given up. */
export async function comeBack({
  clock,
  reconnectMs,
  connect,
  isGone = () => false,
  isOver,
}: Return): Promise<string | undefined> {
  const deadline = clock.elapsed() + reconnectMs;
  while (!isOver()) {
    try {
      await connect();
      return undefined;
    } catch (error) {
      if (isInVain(error) || isGone(error) || clock.elapsed() >= deadline) {
        return error instanceof Error ? error.message : String(error);
      }
    }
    await new Promise<void>((resolve) => clock.after(retryMs, resolve));
  }
  return undefined;
}

/** A server that answered and will not have us back would not change its mind, and one that said goodbye is gone. */
function isInVain(error: unknown): boolean {
  return error instanceof RpcError || (error instanceof ConnectionClosedError && error.isFinal);
}
