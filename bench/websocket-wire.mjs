// The client's end of a WebSocket, hand-written on a raw socket: it costs the same few microseconds with either server.

import { connect } from 'node:net';
import { Inbox, asError } from './inbox.mjs';

/** @import { Wire, WireHandlers } from './inbox.mjs' */

/** Masked with zeros, which changes nothing: the server still unmasks, and the client saves the work. */
const maskBytes = 4;
const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/** First byte of a binary message that is an output frame. */
const outputTag = 1;

/**
 * @param {string} url ws://HOST:PORT
 * @param {WireHandlers & { reads: 'nudge' | 'plain' }} options nudge: answer each read with a pong. The TCP acknowledgement sent
 *   with it lets a server that leaves TCP_NODELAY off send its next message at once, instead of after a delayed acknowledgement of 40 ms
 * @returns {Promise<Wire>}
 */
export function openWebSocket(url, { reads, onText, onBinary, onEnd }) {
  const { hostname, port, host } = new URL(url);
  const inbox = new Inbox();
  let isUpgraded = false;
  /** @type {(wire: Wire) => void} */
  let resolve = () => {};
  /** @type {(error: Error) => void} */
  let reject = () => {};
  /** @type {Promise<Wire>} */
  const upgraded = new Promise((succeed, fail) => ([resolve, reject] = [succeed, fail]));

  const socket = connect({
    host: hostname,
    port: Number(port),
    noDelay: true,
    onread: { buffer: () => inbox.room(), callback: take },
  });
  socket.on('connect', () => socket.write(upgradeRequest(host)));
  socket.on('error', ended);
  socket.on('close', () => ended(new Error(`${url} closed the connection`)));

  /** @param {number} count */
  function take(count) {
    inbox.took(count);
    try {
      if (!isUpgraded && !readUpgrade()) return true;
      while (readFrame());
      if (reads === 'nudge' && !socket.destroyed) socket.write(frame(opcodes.pong, ''));
    } catch (error) {
      ended(asError(error));
      socket.destroy();
    }
    return true;
  }

  /** True once the response has arrived. */
  function readUpgrade() {
    const head = inbox.bytes.subarray(inbox.start, inbox.end);
    const length = head.indexOf('\r\n\r\n');
    if (length === -1) return false;
    const [status] = head.toString('latin1', 0, length).split('\r\n');
    if (!status.startsWith('HTTP/1.1 101 ')) throw new Error(`${url} answered "${status}"`);
    inbox.start += length + 4;
    isUpgraded = true;
    resolve({ send, pause, resume, close });
    return true;
  }

  /** True if there was a complete frame. */
  function readFrame() {
    const { bytes, start, end } = inbox;
    if (end - start < 2) return false;
    const opcode = bytes[start] & 0x0f;
    let payload = start + 2;
    let length = bytes[start + 1];
    if (length === 126) {
      if (end - start < 4) return false;
      length = bytes.readUInt16BE(start + 2);
      payload = start + 4;
    } else if (length === 127) {
      if (end - start < 10) return false;
      length = bytes.readUInt32BE(start + 2) * 2 ** 32 + bytes.readUInt32BE(start + 6);
      payload = start + 10;
    }
    if (end - payload < length) return false;
    if (bytes[start] < 0x80) throw new Error(`${url} sent a message in fragments, which no server measured here does`);
    inbox.start = payload + length;
    if (opcode === opcodes.text) onText(bytes, payload, payload + length);
    else if (opcode === opcodes.binary) readBinary(bytes, payload, payload + length);
    else if (opcode === opcodes.ping) socket.write(frame(opcodes.pong, bytes.toString('latin1', payload, payload + length)));
    else if (opcode === opcodes.close) throw new Error(`${url} closed the WebSocket`);
    return true;
  }

  /**
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  function readBinary(bytes, start, end) {
    if (bytes[start] !== outputTag) throw new Error(`${url} sent a binary message that begins with ${bytes[start]}`);
    onBinary(bytes, start + 1, end);
  }

  /** @param {Error} error */
  function ended(error) {
    reject(error);
    onEnd(error);
  }

  /** @param {string} text */
  const send = (text) => void socket.write(frame(opcodes.text, text));
  const pause = () => void socket.pause();
  const resume = () => void socket.resume();
  const close = () => void socket.destroy();
  return upgraded;
}

/** @param {string} host */
function upgradeRequest(host) {
  const key = Buffer.from('a benchmark, not').toString('base64');
  const lines = [
    `Host: ${host}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${key}`,
    'Sec-WebSocket-Version: 13',
  ];
  return `GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

/**
 * @param {number} opcode
 * @param {string} text of characters below 256, one byte each
 */
function frame(opcode, text) {
  const lengthBytes = text.length < 126 ? 0 : text.length < 2 ** 16 ? 2 : 8;
  const payload = 2 + lengthBytes + maskBytes;
  const bytes = Buffer.allocUnsafe(payload + text.length);
  bytes[0] = 0x80 | opcode;
  if (lengthBytes === 0) bytes[1] = 0x80 | text.length;
  else if (lengthBytes === 2) {
    bytes[1] = 0x80 | 126;
    bytes.writeUInt16BE(text.length, 2);
  } else {
    bytes[1] = 0x80 | 127;
    bytes.writeBigUInt64BE(BigInt(text.length), 2);
  }
  bytes.fill(0, payload - maskBytes, payload);
  bytes.write(text, payload, 'latin1');
  return bytes;
}
