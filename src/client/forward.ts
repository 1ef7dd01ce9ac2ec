// Forwards connections to a port or socket of this machine to one of the server's machine.

import { deferred } from '../base/deferred.js';
import type { ExecLink } from './exec-link.js';
import type { LocalAddress, LocalConnection, LocalListener, Platform } from './platform.js';
import { type RemoteAddress, connectFlow } from './tunnel.js';

export interface ForwardOptions {
  /** Where to listen on this machine: on loopback unless a host is named; on any free port when absent. */
  readonly local?: LocalAddress;
  /** Where the server connects to, for each connection. */
  readonly remote: RemoteAddress;
  /** Called when the server could not connect, or when a connection broke. The forward continues. Must not throw. */
  readonly onProblem?: (problem: string) => void;
}

/** Disposing it closes it. */
export interface Forward extends AsyncDisposable {
  /** Where it listens, with the port that was chosen. */
  readonly address: LocalListener['address'];
  /** Number of open connections. */
  readonly connections: number;
  /** Resolves when it has ended: with undefined after `close`, with the reason when the server was lost. */
  readonly closed: Promise<string | undefined>;
  /** Stops listening and resets the open connections. */
  close(): Promise<void>;
}

export interface ForwardContext {
  readonly link: ExecLink;
  readonly platform: Platform | undefined;
}

/** Rejects when the local address is not available, and in browsers, which cannot listen. */
export async function openForward({ link, platform }: ForwardContext, options: ForwardOptions): Promise<Forward> {
  if (platform === undefined) throw new Error('forwarding needs Node: a browser cannot listen; use openPort instead');
  const { local = {}, remote, onProblem = () => {} } = options;
  const open = new Set<{ reset(problem: string): void }>();
  const closed = deferred<string | undefined>();
  const accept = async (connection: LocalConnection): Promise<void> => {
    const flow = link.openFlow();
    // Early bytes travel right behind the call, without waiting for its reply.
    const connected = connectFlow(link, flow, remote).catch((error: unknown) => onProblem(messageOf(error)));
    open.add(flow);
    await Promise.all([connected, connection.join(flow)]);
    open.delete(flow);
  };
  const listener = await platform.listen(local, (connection) => void accept(connection));
  const close = async (problem: string | undefined): Promise<void> => {
    closed.resolve(problem);
    await listener.close();
    for (const flow of open) flow.reset(problem ?? 'the forward was closed');
  };
  void link.ended.then((problem) => close(problem ?? 'the client was closed'));
  return {
    address: listener.address,
    get connections() {
      return open.size;
    },
    closed: closed.promise,
    close: () => close(undefined),
    [Symbol.asyncDispose]: () => close(undefined),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
