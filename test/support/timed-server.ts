// A real server in this process, on its own port, whose clock the test controls.

import assert from 'node:assert/strict';
import { silentLogger } from '#src/base/logger.js';
import { FrontDoor, type FrontDoorOptions, Server, ServerMetrics } from '#src/server/index.js';
import { eventually } from './eventually.js';
import { FakeClock } from './fake-clock.js';

export class TimedServer implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly server: Server;
  readonly url: string;
  readonly #door: FrontDoor;

  private constructor(clock: FakeClock, server: Server, door: FrontDoor) {
    this.clock = clock;
    this.server = server;
    this.#door = door;
    this.url = door.urls[0] ?? assert.fail('no address');
  }

  static async start(credentials: FrontDoorOptions['credentials'] = { kind: 'none' }): Promise<TimedServer> {
    const clock = new FakeClock();
    const server = new Server({ clock });
    const door = await FrontDoor.open(server, {
      listen: [{ kind: 'websocket', isSecure: false, host: '127.0.0.1', port: 0 }],
      credentials,
      tls: undefined,
      allowedOrigins: [],
      allowedHosts: ['127.0.0.1'],
      metricsAccess: 'guarded',
      metrics: new ServerMetrics(),
      logger: silentLogger,
    });
    return new TimedServer(clock, server, door);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    let isClosed = false;
    void Promise.all([this.#door.close(), this.server.close()]).then(() => (isClosed = true));
    await eventually(async () => {
      await this.clock.advance(1_000); // ending processes and connections waits on this clock
      assert.ok(isClosed);
    });
  }
}
