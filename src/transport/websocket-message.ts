// How our messages and closes are encoded on a WebSocket, for both sides. Knows no socket.

import type { BinaryParts, ChannelEnd, ChannelListener } from '../rpc/channel.js';

/** First byte of our binary frames, here and on a stream. No JSON text starts with it. */
export const binaryMark = 0x01;

/** Close code when there is a problem; from the range for private use, which browsers allow too. */
const problemCode = 4000;

/** RFC 6455 §7.4.1: a server is shutting down. Browsers also send it when the user leaves the page. */
const goingAwayCode = 1001;

/** Longest reason that fits into a close frame. */
const longestReasonBytes = 123;

/** Normal closure, and a close without a code. */
const goodOrderCodes = [1000, 1005];

/** No close frame was received: the connection broke. */
export const brokenCode = 1006;

/** A binary message that starts with the mark is one of our frames; any other may hold JSON text. */
export function readBinaryMessage(bytes: Uint8Array, listener: ChannelListener): void {
  const [first] = bytes;
  if (first === binaryMark) return listener.binary(bytes.subarray(1));
  if (first === undefined || !jsonStarts.includes(first)) return listener.unreadable(`a binary message ${startOf(first)}`);
  const text = validText(bytes);
  if (text === undefined) return listener.unreadable('a binary message holds text that is not valid UTF-8');
  listener.message(text);
}

/** Undefined for invalid UTF-8. Unlike the faster utf8.ts, this runs in browsers too. Keeps a byte order mark, which is not valid JSON. */
function validText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined; // a TypeError, which only invalid bytes cause
  }
}

/** The opening brace and JSON whitespace. */
const jsonStarts = [0x7b, 0x20, 0x09, 0x0d, 0x0a];

function startOf(first: number | undefined): string {
  if (first === undefined) return 'is empty';
  return `starts with byte ${first}, expected ${binaryMark} before a frame or { before JSON`;
}

/** A frame as the payload of a binary message. */
export function binaryMessage([head, body = new Uint8Array(0)]: BinaryParts): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(1 + head.length + body.length);
  message[0] = binaryMark;
  message.set(head, 1);
  message.set(body, 1 + head.length);
  return message;
}

/** The arguments of a close. A problem that is too long is truncated. */
export function closeArguments(
  problem: string | undefined,
  sense: 'goodbye' | undefined,
): readonly [code: number, reason: string] {
  if (problem === undefined) return [sense === 'goodbye' ? goingAwayCode : 1000, ''];
  const { read } = new TextEncoder().encodeInto(problem, new Uint8Array(longestReasonBytes));
  return [sense === 'goodbye' ? goingAwayCode : problemCode, problem.slice(0, read)];
}

/** How the channel ended, when this side has no problem to report itself. */
export function endOfWebSocket(code: number, reason: string): ChannelEnd {
  if (goodOrderCodes.includes(code)) return {};
  if (code === goingAwayCode) return { ...(reason === '' ? {} : { problem: asOneLine(reason) }), isFinal: true };
  if (code === brokenCode) return { problem: 'the connection broke off without a close' };
  return { problem: `closed by the peer: ${reason === '' ? `code ${code}` : `${asOneLine(reason)} (${code})`}` };
}

/** The reason ends up in logs and on terminals, so it is limited in length and loses characters that move a cursor or end a line. */
function asOneLine(reason: string): string {
  return reason.slice(0, longestReasonBytes).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
}
