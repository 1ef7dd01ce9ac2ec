// Parses the reply to process/read by position: chunks are checked in place, and only the little around them is parsed as JSON.

import { numberAt } from './digits.mjs';

/** @import { Content } from './content.mjs' */

const quote = 0x22;
const comma = 0x2c;
const beforeChunks = Buffer.from('"result":{"chunks":[');
const beforeSeq = '{"seq":'.length;
const beforeChunk = Buffer.from('"chunk":"');

/** The chunks must begin within this many bytes: an id comes before them. */
const headBytes = 64;

/**
 * @param {{bytes: Buffer, start: number, end: number}} reply
 * @param {{content: Content, offset: number, afterSeq: number}} expected
 * @returns {{offset: number, nextSeq: number}} where the next page begins
 */
export function checkedPage({ bytes, start, end }, { content, offset, afterSeq }) {
  const found = bytes.subarray(start, Math.min(end, start + headBytes)).indexOf(beforeChunks);
  if (found === -1) throw new Error(`not a page: ${bytes.toString('utf8', start, Math.min(end, start + 200))}`);
  let at = start + found + beforeChunks.length;
  let nextOffset = offset;
  let seq = afterSeq;
  while (bytes[at] === comma || bytes[at + 1] === quote) {
    if (bytes[at] === comma) at += 1;
    seq += 1;
    if (numberAt(bytes, at + beforeSeq).value !== seq) throw new Error(`process/read: expected chunk ${seq}, got another`);
    const chunkStart = bytes.indexOf(beforeChunk, at) + beforeChunk.length;
    const chunkEnd = bytes.indexOf(quote, chunkStart);
    const count = content.matchesBase64(nextOffset, { bytes, start: chunkStart, end: chunkEnd });
    if (count === -1) throw new Error(`process/read: wrong bytes from offset ${nextOffset} on`);
    nextOffset += count;
    at = chunkEnd + '"}'.length;
  }
  const { nextSeq } = JSON.parse(`{"chunks":[${bytes.toString('utf8', at, end - 1)}`);
  if (nextSeq !== seq + 1) throw new Error(`process/read: nextSeq ${nextSeq} after chunk ${seq}`);
  return { offset: nextOffset, nextSeq };
}
