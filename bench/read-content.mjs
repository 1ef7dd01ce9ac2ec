// Checks the content in a reply to fs/readFile or fs/readBlock in place: parsing 64 MiB as JSON would take longer than reading them.

/** @import { Content } from './content.mjs' */

const beforeContent = /"(?:dataBase64|chunk)":"/;
const afterContent = /"(?:,"eof":(?:true|false))?\}\}$/;

/** The content must begin and end within this many bytes of the reply's own ends: an id comes before it, and `eof` after it. */
const aroundBytes = 64;

/**
 * @param {{bytes: Buffer, start: number, end: number}} reply
 * @param {{content: Content, offset: number}} expected
 * @returns {number} bytes in the reply
 */
export function checkedContent({ bytes, start, end }, { content, offset }) {
  const tailStart = Math.max(start, end - aroundBytes);
  const head = beforeContent.exec(bytes.toString('latin1', start, Math.min(end, start + aroundBytes)));
  const tail = afterContent.exec(bytes.toString('latin1', tailStart, end));
  if (head === null || tail === null)
    throw new Error(`not content: ${bytes.toString('utf8', start, Math.min(end, start + 200))}`);
  const piece = { bytes, start: start + head.index + head[0].length, end: tailStart + tail.index };
  const count = content.matchesBase64(offset, piece);
  if (count === -1) throw new Error(`wrong bytes from offset ${offset} on`);
  return count;
}
