// A WebSocket server that echoes each message: the cost of a round trip without any work. Prints its address. Run by the benchmark,
// with one client at a time, which waits for each echo, so messages arrive whole.

import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

/** @import { AddressInfo } from 'node:net' */

/** RFC 6455, section 1.3. */
const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const pong = 10;

const server = createServer({ noDelay: true }, (socket) => {
  /** @type {Buffer} */
  let unread = Buffer.alloc(0);
  let isUpgraded = false;
  socket.on('error', () => socket.destroy());
  socket.on('data', (piece) => {
    unread = unread.length === 0 ? piece : Buffer.concat([unread, piece]);
    if (!isUpgraded) {
      isUpgraded = true;
      const key = /^Sec-WebSocket-Key: (.*)$/im.exec(unread.toString('latin1'))?.[1].trim();
      const accept = createHash('sha1')
        .update(key + guid)
        .digest('base64');
      const head = [
        'HTTP/1.1 101 Switching Protocols',
        'Upgrade: websocket',
        'Connection: Upgrade',
        `Sec-WebSocket-Accept: ${accept}`,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      unread = Buffer.alloc(0);
      return;
    }
    for (let frame = firstFrame(unread); frame !== undefined; frame = firstFrame(unread)) {
      if (frame.opcode !== pong) socket.write(answer(frame.payload));
      unread = unread.subarray(frame.end);
    }
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {AddressInfo} */ (server.address());
  process.stdout.write(`ws://127.0.0.1:${port}\n`);
});

/**
 * The client masks with zeros, so there is nothing to unmask. Messages have at most 64 KiB.
 * @param {Buffer} bytes
 */
function firstFrame(bytes) {
  if (bytes.length < 6) return undefined;
  const isLong = (bytes[1] & 0x7f) === 126;
  if (isLong && bytes.length < 8) return undefined;
  const length = isLong ? bytes.readUInt16BE(2) : bytes[1] & 0x7f;
  const start = isLong ? 8 : 6;
  if (bytes.length < start + length) return undefined;
  return { opcode: bytes[0] & 0x0f, payload: bytes.subarray(start, start + length), end: start + length };
}

/** @param {Buffer} payload */
function answer(payload) {
  const head =
    payload.length < 126
      ? Buffer.from([0x81, payload.length])
      : Buffer.from([0x81, 126, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([head, payload]);
}
