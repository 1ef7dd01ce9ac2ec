// A connection at the level of bytes, to a server that is not trusted either: sends what it is given, and reads the answers by its own
// rules.

import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { connect as connectSecurely } from 'node:tls';
import { opcodes } from './frames.js';

export interface WireListener {
  message(message: unknown): void;
  problem(problem: string): void;
}

export interface Wire {
  /** Resolves when the operating system has taken it, or the connection has ended. */
  send(bytes: Buffer): Promise<void>;
  /** Ends the sending side. */
  end(): void;
  /** Hangs up immediately. */
  cut(): void;
  readonly isClosed: boolean;
  /** Resolves when nothing more can arrive. */
  readonly closed: Promise<void>;
}

/** Where a server listens for WebSockets. */
export interface WebSocketDoor {
  readonly url: string;
  /** For one that is reached over TLS. */
  readonly certificate: string | undefined;
  readonly authorization: string | undefined;
}

export async function unixWire(path: string, listener: WireListener): Promise<Wire> {
  const socket = connect(path);
  await once(socket, 'connect');
  return streamWire(socket, socket, listener);
}

/** Lines, and binary frames between them. */
export function streamWire(readable: Readable, writable: Writable, listener: WireListener): Wire {
  return new ByteWire(readable, writable, (rest) => takeLine(rest, listener));
}

/** For data in place of a WebSocket handshake or, without a certificate, of a TLS one; the answers are discarded. */
export async function deafWire(door: WebSocketDoor): Promise<Wire> {
  const socket = await socketTo(door);
  return new ByteWire(socket, socket, (rest) => rest.length);
}

export async function webSocketWire(door: WebSocketDoor, listener: WireListener): Promise<Wire> {
  const socket = await socketTo(door);
  const authorization = door.authorization === undefined ? '' : `Authorization: ${door.authorization}\r\n`;
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${new URL(door.url).host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${authorization}` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  let isOpen = false;
  return new ByteWire(socket, socket, (rest) => {
    if (isOpen) return takeFrame(rest, listener);
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return 0;
    isOpen = true;
    if (!rest.toString('latin1').startsWith('HTTP/1.1 101 ')) listener.problem(`no handshake: ${rest.toString('latin1', 0, 60)}`);
    return end + 4;
  });
}

async function socketTo({ url, certificate }: WebSocketDoor): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const address = { host: hostname, port: Number(port) };
  const socket = certificate === undefined ? connect(address) : connectSecurely({ ...address, ca: certificate });
  await once(socket, certificate === undefined ? 'connect' : 'secureConnect');
  return socket.setNoDelay(true);
}

class ByteWire implements Wire {
  readonly closed: Promise<void>;
  readonly #readable: Readable;
  readonly #writable: Writable;
  #isClosed = false;

  /** `take` gets the bytes received so far and returns how many it consumed. */
  constructor(readable: Readable, writable: Writable, take: (rest: Buffer) => number) {
    this.#readable = readable;
    this.#writable = writable;
    let rest: Buffer = Buffer.alloc(0);
    readable.on('data', (piece: Buffer) => {
      rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      for (let taken = take(rest); taken > 0; taken = rest.length === 0 ? 0 : take(rest)) rest = rest.subarray(taken);
    });
    this.closed = new Promise((resolve) => {
      const close = () => {
        this.#isClosed = true;
        resolve();
      };
      readable.once('end', close);
      readable.once('close', close);
    });
    readable.on('error', () => {});
    writable.on('error', () => {}); // the server may hang up at any time
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(bytes: Buffer): Promise<void> {
    if (this.#isClosed || this.#writable.destroyed) return Promise.resolve();
    return new Promise((resolve) => void this.#writable.write(bytes, () => resolve()));
  }

  end(): void {
    this.#writable.end();
  }

  cut(): void {
    this.#readable.destroy();
    this.#writable.destroy();
  }
}

function takeLine(rest: Buffer, listener: WireListener): number {
  if (rest[0] === 0x01) {
    const length = rest.length < 5 ? undefined : rest.readUInt32BE(1) + 5;
    return length === undefined || rest.length < length ? 0 : length;
  }
  const end = rest.indexOf('\n');
  if (end >= 0) read(rest.subarray(0, end), listener);
  return end + 1;
}

/** Servers send whole frames without a mask. */
function takeFrame(rest: Buffer, listener: WireListener): number {
  const [first = 0, second = 0] = rest;
  const headerBytes = second === 127 ? 10 : second === 126 ? 4 : 2;
  if (rest.length < headerBytes) return 0;
  const length = second === 127 ? Number(rest.readBigUInt64BE(2)) : second === 126 ? rest.readUInt16BE(2) : second;
  if (rest.length < headerBytes + length) return 0;
  const payload = rest.subarray(headerBytes, headerBytes + length);
  if (first === (0x80 | opcodes.text)) read(payload, listener);
  else if (![opcodes.binary, opcodes.close, opcodes.ping, opcodes.pong].some((opcode) => first === (0x80 | opcode))) {
    listener.problem(`a frame with the first byte ${first}`);
  }
  return headerBytes + length;
}

function read(text: Buffer, listener: WireListener): void {
  try {
    listener.message(JSON.parse(text.toString()));
  } catch (error) {
    listener.problem(`the server sent something unreadable: ${String(error)}`);
  }
}
