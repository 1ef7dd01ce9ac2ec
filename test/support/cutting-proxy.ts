// A TCP proxy on loopback that cuts its connections at random points in the data.

import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { deferred } from '#src/base/deferred.js';

/** Longest wait between two cuts. Short enough that many hit a handshake, long enough that some data passes. */
const longestCalmMs = 12;

/** Most consecutive cuts that hit a handshake: on a busy machine all of them would, and the client would give up for good. */
const mostEarlyCuts = 20;

/** A server that has answered the handshake has sent at least this much; its answer to the upgrade alone is shorter. */
const greetingBytes = 300;

export class CuttingProxy implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cuts = 0;
  #earlyCuts = 0;
  /** Sent by the server on the latest connection. */
  #sentBytes = 0;
  #isClosed = false;
  #isBlocked = false;
  #waiting: { count: number; reached: () => void }[] = [];

  private constructor(server: Server) {
    this.#server = server;
    this.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(targetUrl: string): Promise<CuttingProxy> {
    const target = new URL(targetUrl);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new CuttingProxy(server);
    server.on('connection', (near) => {
      if (proxy.#isBlocked) return void near.resetAndDestroy();
      // The server checks the Host header, which names this proxy's port; the test configured the server to allow it.
      const far = connect(Number(target.port), target.hostname);
      proxy.#sentBytes = 0;
      far.on('data', (bytes: Buffer) => (proxy.#sentBytes += bytes.length));
      proxy.#join(near, far);
    });
    return proxy;
  }

  get cutCount(): number {
    return this.#cuts;
  }

  /** Cuts every open connection, now. */
  cut(): void {
    for (const socket of this.#sockets) {
      if (socket.writableEnded) socket.destroy(); // libuv refuses to reset a socket that is being shut down, and Node then never closes it
      else socket.resetAndDestroy();
    }
  }

  /** Cuts every open connection `times` times, at random moments. */
  cutRandomly(times: number): void {
    void this.#cutRandomly(times);
  }

  /** Cuts every open connection and refuses new ones until the returned function is called. */
  block(): () => void {
    this.#isBlocked = true;
    this.cut();
    return () => (this.#isBlocked = false);
  }

  /** Resolves after this many cuts. */
  async reached(count: number): Promise<void> {
    if (this.#cuts >= count) return;
    const waiting = deferred<undefined>();
    this.#waiting.push({ count, reached: () => waiting.resolve(undefined) });
    await waiting.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #cutRandomly(times: number): Promise<void> {
    while (this.#cuts < times && !this.#isClosed) {
      await sleep(Math.random() * longestCalmMs);
      const isEarly = this.#sentBytes < greetingBytes;
      if (this.#sockets.size === 0 || (isEarly && this.#earlyCuts === mostEarlyCuts)) continue;
      this.#earlyCuts = isEarly ? this.#earlyCuts + 1 : 0;
      this.cut();
      this.#cuts += 1;
      for (const { count, reached } of this.#waiting) if (this.#cuts >= count) reached();
      this.#waiting = this.#waiting.filter(({ count }) => this.#cuts < count);
    }
  }

  #join(near: Socket, far: Socket): void {
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.pipe(to);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
