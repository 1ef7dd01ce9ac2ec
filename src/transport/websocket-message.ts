// What our messages and endings look like on a WebSocket, for both sides. Knows no socket.

import type { BinaryParts, ChannelEnd, ChannelListener } from '../rpc/channel.js';

/** Tells our binary frames from everything else, here and on a stream: no JSON text starts with it. */
export const binaryMark = 0x01;

/** Sent with a close that has a problem; from the range that programs, browsers included, may use as they like. */
const problemCode = 4000;

/** RFC 6455 §7.4.1: a server that goes down. Browsers say it too, when their page is left. */
const goingAwayCode = 1001;

/** A close frame has room for no more. */
const longestReasonBytes = 123;

/** Normal, and no code at all. */
const goodOrderCodes = [1000, 1005];

/** Gave no close frame: the connection broke. */
export const brokenCode = 1006;

/** A binary message is one of our frames if the mark comes first, else it may hold JSON text. */
export function readBinaryMessage(bytes: Uint8Array, listener: ChannelListener): void {
  const [first] = bytes;
  if (first === binaryMark) return listener.binary(bytes.subarray(1));
  if (first === undefined || !jsonStarts.includes(first)) return listener.unreadable(`a binary message ${startOf(first)}`);
  const text = validText(bytes);
  if (text === undefined) return listener.unreadable('a binary message holds text that is not valid UTF-8');
  listener.message(text);
}

/** Undefined for invalid UTF-8. Runs in browsers too, where the faster utf8.ts does not. Keeps a byte order mark, which is no JSON. */
function validText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined; // a TypeError, for nothing but invalid bytes
  }
}

/** An opening brace and white space. */
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

/** The arguments of a close, with as much of the problem as there is room for. */
export function closeArguments(
  problem: string | undefined,
  sense: 'goodbye' | undefined,
): readonly [code: number, reason: string] {
  if (problem === undefined) return [sense === 'goodbye' ? goingAwayCode : 1000, ''];
  const { read } = new TextEncoder().encodeInto(problem, new Uint8Array(longestReasonBytes));
  return [sense === 'goodbye' ? goingAwayCode : problemCode, problem.slice(0, read)];
}

/** What the end is called when this side has no problem of its own to name. */
export function endOfWebSocket(code: number, reason: string): ChannelEnd {
  if (goodOrderCodes.includes(code)) return {};
  if (code === goingAwayCode) return { ...(reason === '' ? {} : { problem: asOneLine(reason) }), isFinal: true };
  if (code === brokenCode) return { problem: 'the connection broke off without a close' };
  return { problem: `closed by the peer: ${reason === '' ? `code ${code}` : `${asOneLine(reason)} (${code})`}` };
}

/** The peer's own words end up in logs and on terminals: as much as fits a close frame, and nothing that moves a cursor or ends a line. */
function asOneLine(reason: string): string {
  return reason.slice(0, longestReasonBytes).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
}
