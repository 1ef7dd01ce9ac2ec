// A connection from the server's machine to a port or a Unix socket there, as bytes in two directions.

import type { Flow } from '../rpc/flow.js';
import type { ExecLink } from './exec-link.js';

/** A TCP port of the server's machine, on loopback unless a host is named, or a Unix socket there. */
export type RemoteAddress = { readonly port: number; readonly host?: string } | { readonly path: string };

/** Disposing it closes it. */
export interface Tunnel extends Disposable {
  /** What the other end sends, until it has sent everything. Reading slowly slows the other end down. One reader. */
  readonly readable: AsyncIterable<Uint8Array>;
  /** Resolves when more can be written. The caller must not change the bytes afterwards. */
  write(bytes: Uint8Array): Promise<void>;
  /** Nothing more will be written. The other end may still send. */
  end(): void;
  /** Ends both directions at once; the other end sees a reset unless both had ended. */
  close(): void;
}

/** Resolves when the server has connected. */
export async function openTunnel(link: ExecLink, to: RemoteAddress): Promise<Tunnel> {
  const flow = link.openFlow();
  await connectFlow(link, flow, to);
  const close = () => flow.reset('the tunnel was closed');
  return { readable: flow, write: (bytes) => flow.write(bytes), end: () => flow.end(), close, [Symbol.dispose]: close };
}

/** The flow was opened just before. If the server does not connect it, it is reset with the reason. */
export async function connectFlow(link: ExecLink, flow: Flow, to: RemoteAddress): Promise<void> {
  try {
    await link.service['ports/open']({ flowId: flow.id, ...to });
  } catch (error) {
    flow.reset(error instanceof Error ? error.message : String(error));
    throw error;
  }
}
