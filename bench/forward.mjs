// Throughput and echo latency of a connection that is forwarded through a server, next to a bare TCP proxy in Node (two sockets piped
// together), in the same run. Each of the programs is its own process: the far end, the proxy, the server, and the client that forwards.
//
//   npm run bench:forward -- [ROUNDS]      (MIB=16 for shorter transfers)

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { median } from '../scripts/measure.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const program = path.join(root, 'dist', 'bin', 'sluice.cjs');

/** Long enough that the start of a connection does not count. */
const transferBytes = Number(process.env.MIB ?? 128) * 1024 * 1024;
const echoes = 3_000;
const echoBytes = 64;
const pieceBytes = 64 * 1024;

const [role, ...args] = process.argv.slice(2);
if (role === 'far') await serveFarEnd();
else if (role === 'proxy') await serveProxy(Number(args[0]));
else await main(Number(role ?? 7));

/** The first byte says what to do: `s` sends everything, `r` reads everything and answers with one byte, `e` echoes. */
async function serveFarEnd() {
  const piece = Buffer.alloc(pieceBytes, 'x');
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', (first) => {
      const wish = String.fromCharCode(first[0] ?? 0);
      if (wish === 's') void send(socket, piece);
      else if (wish === 'r') socket.resume().on('end', () => socket.end('.'));
      else {
        socket.write(first.subarray(1)); // may have arrived together with the wish
        socket.on('data', (bytes) => socket.write(bytes));
      }
    });
  });
  await announce(server);
}

/** @param {number} port */
async function serveProxy(port) {
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    near.pipe(far).pipe(near);
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  });
  await announce(server);
}

/** @param {import('node:net').Server} server */
async function announce(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  console.log(typeof address === 'object' ? address?.port : address);
}

/**
 * @param {import('node:net').Socket} socket
 * @param {Buffer} piece
 */
async function send(socket, piece) {
  for (let sent = 0; sent < transferBytes; sent += piece.length) if (!socket.write(piece)) await once(socket, 'drain');
  socket.end();
}

/** @param {number} rounds */
async function main(rounds) {
  /** @type {import('node:child_process').ChildProcess[]} */
  const children = [];
  /** @param {string[]} words */
  const start = async (words) => {
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${words.join(' ')} has ended`)));
    ended.catch(() => {}); // it is ended below
    const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
    return String(line);
  };
  try {
    const self = fileURLToPath(import.meta.url);
    const far = Number(await start([self, 'far']));
    const proxy = Number(await start([self, 'proxy', String(far)]));
    const url = await start(['--', program, 'serve', '--listen', 'ws://127.0.0.1:0', '--allow-forward', '--log-level', 'error']);
    const local = await start(['--', program, 'forward', '--connect', url, `0:${far}`]);
    const contenders = { proxy, sluice: Number(/(\d+)\D*$/.exec(local)?.[1]) };
    /** @type {Record<string, Record<'proxy' | 'sluice', number[]>>} */
    const figures = {};
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, port] of Object.entries(contenders)) {
        for (const [figure, value] of Object.entries(await measure(port))) {
          const both = (figures[figure] ??= { proxy: [], sluice: [] });
          both[name === 'proxy' ? 'proxy' : 'sluice'].push(value);
        }
      }
    }
    console.log('figure            proxy     sluice    sluice / proxy');
    for (const [figure, { proxy: bare, sluice }] of Object.entries(figures)) {
      const [one, other] = [median(bare), median(sluice)];
      console.log(
        `${figure.padEnd(16)} ${one.toFixed(1).padStart(8)} ${other.toFixed(1).padStart(9)} ${(other / one).toFixed(2).padStart(10)}`,
      );
    }
  } finally {
    for (const child of children) child.kill();
  }
}

/** @param {number} port */
async function measure(port) {
  return {
    'download MB/s': await throughput(port, 's'),
    'upload MB/s': await throughput(port, 'r'),
    ...(await echo(port)),
  };
}

/**
 * @param {number} port
 * @param {'s' | 'r'} wish
 */
async function throughput(port, wish) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  await once(socket, 'connect');
  const begun = performance.now();
  socket.write(wish);
  let received = 0;
  socket.on('data', (bytes) => (received += bytes.length));
  const ended = once(socket, 'end');
  if (wish === 'r') await send(socket, Buffer.alloc(pieceBytes, 'y'));
  await ended;
  const seconds = (performance.now() - begun) / 1000;
  if (received !== (wish === 's' ? transferBytes : 1)) throw new Error(`got ${received} bytes`);
  socket.destroy();
  return transferBytes / 1e6 / seconds;
}

/** @param {number} port */
async function echo(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  socket.write('e');
  const message = Buffer.alloc(echoBytes, 'z');
  const times = [];
  for (let count = 0; count < echoes; count += 1) {
    const begun = performance.now();
    socket.write(message);
    for (let missing = echoBytes; missing > 0;) missing -= (await once(socket, 'data'))[0].length;
    times.push((performance.now() - begun) * 1000);
  }
  socket.destroy();
  times.sort((one, other) => one - other);
  return { 'echo p50 µs': times[Math.floor(echoes * 0.5)] ?? 0, 'echo p99 µs': times[Math.floor(echoes * 0.99)] ?? 0 };
}
