// A TCP proxy on loopback that cuts its connections in the middle of whatever they are saying.

import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { deferred } from '#src/base/deferred.js';

/** Longest wait between two cuts. Short enough that many hit a greeting, long enough that some data passes. */
const longestCalmMs = 12;

/** Most cuts in a row that hit a greeting: on a busy machine all of them would, and the client would give up for good. */
const mostEarlyCuts = 20;

/** What a server has said when it has answered a greeting: the answer to the upgrade alone is shorter. */
const greetingBytes = 300;

export class CuttingProxy implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cuts = 0;
  #earlyCuts = 0;
  /** By the server, on the latest connection. */
  #saidBytes = 0;
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
      // The server behind checks the Host header, which names this port: it was told to allow it.
      const far = connect(Number(target.port), target.hostname);
      proxy.#saidBytes = 0;
      far.on('data', (bytes: Buffer) => (proxy.#saidBytes += bytes.length));
      proxy.#join(near, far);
    });
    return proxy;
  }

  get cutCount(): number {
    return this.#cuts;
  }

  /** Cuts whatever is connected, now. */
  cut(): void {
    for (const socket of this.#sockets) {
      if (socket.writableEnded) socket.destroy(); // libuv refuses to reset one that is being shut down, and Node then never closes it
      else socket.resetAndDestroy();
    }
  }

  /** Cuts whatever is connected, so many times, at random moments. */
  cutRandomly(times: number): void {
    void this.#cutRandomly(times);
  }

  /** Cuts whatever is connected, and lets nobody through until the returned function is called. */
  block(): () => void {
    this.#isBlocked = true;
    this.cut();
    return () => (this.#isBlocked = false);
  }

  /** Resolves once there were this many cuts. */
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
      const isEarly = this.#saidBytes < greetingBytes;
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
