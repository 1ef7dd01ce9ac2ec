// Raw peers over a real server's stdio, WebSocket and Unix socket.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';
import { RawPeer } from './raw-peer.js';
import { program } from './sluice-server.js';

/** Starts its own server and talks to it over standard streams. */
export async function overStdio(flags: readonly string[] = []): Promise<RawPeer> {
  const server = spawn(process.execPath, ['--', program, 'serve', '--listen', 'stdio', '--log-level', 'error', ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(server, 'exit');
  const peer = new RawPeer(
    (text) => void server.stdin.write(`${text}\n`),
    () => void server.stdin.end(),
    exited,
  );
  createInterface(server.stdout).on('line', (line) => peer.received(line));
  return peer;
}

export async function overWebSocket(url: string, headers: Readonly<Record<string, string>> = {}): Promise<RawPeer> {
  const socket = new WebSocket(url, { headers: { ...headers }, perMessageDeflate: false });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const peer = new RawPeer(
    (text) => socket.send(text),
    () => socket.close(),
    closed,
  );
  socket.on('message', (content: Buffer, isBinary: boolean) => {
    if (isBinary) peer.frames.push(content);
    else peer.received(content.toString());
  });
  peer.pause = () => socket.pause();
  peer.resume = () => socket.resume();
  await once(socket, 'open');
  return peer;
}

export async function overUnixSocket(url: string): Promise<RawPeer> {
  const socket = connect(url.slice('unix://'.length));
  const closed = once(socket, 'close');
  const peer = new RawPeer(
    (text) => void socket.write(`${text}\n`),
    () => void socket.end(),
    closed,
  );
  createInterface(socket).on('line', (line) => peer.received(line));
  await once(socket, 'connect');
  return peer;
}
