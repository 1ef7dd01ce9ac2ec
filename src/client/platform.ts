// What a client can do on the machine it runs on. `local` provides it on Node; in a browser there is none.

import type { Flow } from '../rpc/flow.js';
import type { LocalFiles } from './local-files.js';

/** Loopback when there is no host; any free port when the port is absent or 0. */
export type LocalAddress = { readonly port?: number; readonly host?: string } | { readonly path: string };

/** A program of this machine has connected to a listener. */
export interface LocalConnection {
  /** Copies both directions between the connection and a flow. Resolves when both are over; never rejects. */
  join(flow: Flow): Promise<void>;
}

export interface LocalListener {
  /** Where it listens, with the port that was chosen. */
  readonly address: { readonly host: string; readonly port: number } | { readonly path: string };
  /** Accepts no more connections; those that are open continue. */
  close(): Promise<void>;
}

export interface Platform {
  /** Rejects when the address is in use or not available. */
  listen(at: LocalAddress, accept: (connection: LocalConnection) => void): Promise<LocalListener>;
  files(): Promise<LocalFiles>;
}
