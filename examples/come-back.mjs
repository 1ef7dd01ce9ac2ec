// Loses its connection while a process writes, reconnects without missing anything, and then hands the process over to another client.
//
//   node examples/come-back.mjs

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectSocket, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { connect } from 'sluice';

const sluice = fileURLToPath(new URL('../dist/bin/sluice.cjs', import.meta.url)); // just "sluice" when it is installed
const server = spawn(sluice, ['serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'error'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const exited = once(server, 'exit');
const [address] = await once(server.stdout, 'data'); // the first line is the address it listens on
const url = String(address).trim();

// An unreliable network: all traffic goes through this proxy, which cuts the connections midway.
/** @type {Set<import('node:net').Socket>} */
const sockets = new Set();
const network = createServer((near) => {
  const far = connectSocket(Number(new URL(url).port), '127.0.0.1');
  for (const socket of [near, far]) {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  }
  near.pipe(far).pipe(near);
});
network.listen(0, '127.0.0.1');
await once(network, 'listening');
const networkAddress = network.address();
assert.ok(networkAddress !== null && typeof networkAddress === 'object');

try {
  /** @type {string[]} */
  const states = [];
  const client = await connect(`ws://127.0.0.1:${networkAddress.port}`, { onConnection: ({ kind }) => states.push(kind) });
  const counter = await client.start({
    id: 'counter',
    argv: ['sh', '-c', 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done; exec sleep 600'],
  });
  /** @type {string[]} */
  const lines = [];
  for await (const { text } of counter.lines()) {
    lines.push(text);
    if (text === '2') for (const socket of sockets) socket.destroy();
    if (text === '6') break;
  }
  assert.deepEqual(lines, ['1', '2', '3', '4', '5', '6']); // each once, in order
  assert.deepEqual(states, ['lost', 'back']);

  // From here on the process belongs to the server: it outlives this client, and its output can be reread.
  const { sessionId } = await counter.release();
  await client.close();

  const other = await connect(url);
  const found = await other.attach('counter', { sessionId, role: 'drive' });
  const { text } = await found.collectUntil({ text: '6\n', deadlineMs: 30_000 });
  assert.equal(text, '1\n2\n3\n4\n5\n6\n');
  await found.terminate();
  assert.equal((await found.closed).reason, 'terminated');
  await other.close();
  console.log(`nothing is missing: ${lines.join(' ')}`);
} finally {
  network.close();
  server.kill();
  await exited;
}
