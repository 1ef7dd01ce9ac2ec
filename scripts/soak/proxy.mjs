// A proxy of one client's own, whose connections can be cut at any moment.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

export async function openProxy(target) {
  const sockets = new Set();
  const { port, hostname } = new URL(target);
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      sockets.add(from);
      from.setNoDelay(true);
      from.pipe(to);
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url: `ws://127.0.0.1:${server.address().port}`,
    cut,
    async close() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
