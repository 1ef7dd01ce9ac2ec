// A proxy in front of a WebSocket or a Unix socket that cuts a connection after an exact number of bytes in one direction.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Direction = 'toServer' | 'toClient';

interface Cut {
  readonly direction: Direction;
  leftBytes: number;
}

export class ByteCutter implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #folder: string | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #planned: Cut[] = [];

  private constructor(server: Server, url: string, folder: string | undefined) {
    this.#server = server;
    this.url = url;
    this.#folder = folder;
  }

  static async open(targetUrl: string): Promise<ByteCutter> {
    const isUnix = targetUrl.startsWith('unix:');
    const folder = isUnix ? mkdtempSync(join(tmpdir(), 'sluice-')) : undefined;
    const server = createServer();
    if (folder === undefined) server.listen(0, '127.0.0.1');
    else server.listen(join(folder, 'proxy'));
    await once(server, 'listening');
    const url = folder === undefined ? `ws://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix://${folder}/proxy`;
    const cutter = new ByteCutter(server, url, folder);
    server.on('connection', (near) => {
      const { port, hostname } = new URL(targetUrl);
      cutter.#join(near, isUnix ? connect(targetUrl.slice('unix://'.length)) : connect(Number(port), hostname));
    });
    return cutter;
  }

  /** Plans cuts, one after another: each counts the bytes of its direction from the previous cut, or from now. */
  plan(...cuts: readonly { readonly direction: Direction; readonly afterBytes: number }[]): void {
    this.#planned.splice(0, Infinity, ...cuts.map(({ direction, afterBytes }) => ({ direction, leftBytes: afterBytes })));
  }

  /** Planned cuts that have not happened yet. */
  get pending(): number {
    return this.#planned.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #join(near: Socket, far: Socket): void {
    for (const [from, to, direction] of [
      [near, far, 'toServer'],
      [far, near, 'toClient'],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (bytes: Buffer) => this.#pass(bytes, { from, to, direction }));
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }

  #pass(bytes: Buffer, { from, to, direction }: { from: Socket; to: Socket; direction: Direction }): void {
    const [cut] = this.#planned;
    if (to.writableEnded) return;
    if (cut?.direction !== direction) return void to.write(bytes);
    if (bytes.length <= cut.leftBytes) {
      cut.leftBytes -= bytes.length;
      return void to.write(bytes);
    }
    this.#planned.shift();
    // The bytes before the cut still arrive; bytes in the other direction are lost.
    to.end(bytes.subarray(0, cut.leftBytes), () => to.destroy());
    from.destroy();
  }
}
