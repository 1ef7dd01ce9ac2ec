// The part of the WebSocket handshake, RFC 6455 §4, that both sides must agree on. Knows no socket.

import { createHash } from 'node:crypto';
import type { Refusal } from './http-answer.js';
import { listIn, type RequestHead } from './http-head.js';

/** Appended to the client's key before hashing, so that no server accepts by accident. */
const serverGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export const webSocketVersion = '13';

/** The server's response to the key. It proves only that the server speaks WebSocket. */
export function acceptKey(key: string): string {
  return createHash('sha1')
    .update(key + serverGuid, 'latin1')
    .digest('base64');
}

/** Whether a request asks for a WebSocket; it may still be malformed. */
export function isUpgrade({ headers: { connection, upgrade } }: RequestHead): boolean {
  return listIn(upgrade).some((each) => /^websocket$/i.test(each)) && listIn(connection).some((each) => /^upgrade$/i.test(each));
}

/** Why an upgrade request is refused; undefined when it is valid. */
export function problemWithUpgrade({ method, headers }: RequestHead): Refusal | undefined {
  if (!isBodyBounded(headers)) return refusal(400, 'the request is malformed');
  if (method !== 'GET') return refusal(405, `a WebSocket upgrade must be a GET request, not ${method}`, { allow: 'GET' });
  if (keyIn(headers) === undefined) return refusal(400, 'Sec-WebSocket-Key must occur once and be 16 bytes in base64');
  if (headers['sec-websocket-version'] === webSocketVersion) return undefined;
  const supported = { 'sec-websocket-version': webSocketVersion, upgrade: 'websocket' };
  return refusal(426, `Sec-WebSocket-Version must be ${webSocketVersion}`, supported);
}

/** The complete response to a valid upgrade request. */
export function upgradeAnswer({ headers }: RequestHead, subprotocol: string | undefined): string {
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptKey(keyIn(headers) ?? '')}`,
    ...(subprotocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${subprotocol}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function refusal(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Refusal {
  return { ok: false, status, text, headers };
}

/** Frames begin where the request ends, so that position must be unambiguous. */
function isBodyBounded({ 'transfer-encoding': coding, 'content-length': length = '0' }: RequestHead['headers']): boolean {
  return coding === undefined && typeof length === 'string' && /^\d+$/.test(length);
}

function keyIn(headers: RequestHead['headers']): string | undefined {
  const key = headers['sec-websocket-key'];
  return typeof key === 'string' && /^[+/\dA-Za-z]{22}==$/.test(key) ? key : undefined;
}
