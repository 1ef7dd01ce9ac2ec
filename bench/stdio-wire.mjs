// The client's end of a server's stdin and stdout: one message per line, or a frame of output where a line would start.

import { Inbox, asError } from './inbox.mjs';

/** @import { Wire, WireHandlers } from './inbox.mjs' */
/** @import { Readable, Writable } from 'node:stream' */

const newline = 0x0a;

/** In place of the start of a line, this byte announces an output frame, preceded by its length in four bytes. */
const outputTag = 1;
const frameHeadBytes = 5;

/**
 * @param {{ stdin: Writable, stdout: Readable }} child
 * @param {WireHandlers} handlers
 * @returns {Wire}
 */
export function openStdio(child, { onText, onBinary, onEnd }) {
  const inbox = new Inbox();
  /** There is no line end before this position, so the search continues from here. */
  let searchedTo = 0;

  child.stdout.on('data', take);
  child.stdout.on('end', () => onEnd(new Error('the server closed its stdout')));
  child.stdin.on('error', onEnd);

  /** @param {Buffer} piece */
  function take(piece) {
    const unsearched = searchedTo - inbox.start;
    inbox.append(piece);
    searchedTo = inbox.start + unsearched; // the inbox may have moved its content
    try {
      while (inbox.start < inbox.end && readNext());
    } catch (error) {
      onEnd(asError(error));
      child.stdout.removeAllListeners('data');
    }
  }

  function readNext() {
    return inbox.bytes[inbox.start] === outputTag ? readFrame() : readLine();
  }

  function readLine() {
    const { bytes, start, end } = inbox;
    const found = bytes.subarray(0, end).indexOf(newline, Math.max(start, searchedTo));
    searchedTo = found === -1 ? end : found + 1;
    if (found === -1) return false;
    inbox.start = found + 1;
    if (found > start) onText(bytes, start, found);
    return true;
  }

  function readFrame() {
    const { bytes, start, end } = inbox;
    if (end - start < frameHeadBytes) return false;
    const frameEnd = start + frameHeadBytes + bytes.readUInt32BE(start + 1);
    if (end < frameEnd) return false;
    inbox.start = searchedTo = frameEnd;
    onBinary(bytes, start + frameHeadBytes, frameEnd);
    return true;
  }

  return {
    send: (text) => void child.stdin.write(`${text}\n`, 'latin1'),
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
    close: () => void child.stdin.end(),
  };
}
