// A program of the server's machine that connections are forwarded to.

import { once } from 'node:events';
import { type Server, type Socket, createServer } from 'node:net';

export class FarEnd implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    const address = server.address();
    this.port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Listens on loopback, or on the given host or path. The sockets allow half-open connections. */
  static async listen(serve: (socket: Socket) => void, at: { host?: string; path?: string } = {}): Promise<FarEnd> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    if (at.path === undefined) server.listen(0, at.host ?? '127.0.0.1');
    else server.listen(at.path);
    await once(server, 'listening');
    const far = new FarEnd(server);
    server.on('connection', (socket) => {
      far.sockets.add(socket);
      socket.on('close', () => far.sockets.delete(socket));
      socket.on('error', () => {}); // a reset is what some tests are about
      serve(socket);
    });
    return far;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}

export function echo(socket: Socket): void {
  socket.pipe(socket);
}

/** Everything that a socket receives, until its other side has ended. */
export async function received(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
