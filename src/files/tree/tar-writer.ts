// Writes the headers of a tar archive. Knows no files.

import { isUtf8 } from 'node:buffer';
import { blockBytes, checksumOf, fields, paddingOf } from './tar-format.js';

export interface EntryHeader {
  readonly kind: 'file' | 'folder' | 'link';
  /** Relative, without a slash at the end. */
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly modifiedAtUs: number;
  /** Of a link. */
  readonly target?: string;
}

/** Bytes of the headers of an entry besides its path: two blocks, and the records; a target has less than 4 KiB. */
export const longestHeader = 8 * 1024;

const kinds = { file: '0', folder: '5', link: '2' } as const;

/** What 11 octal digits can say: 8 GiB - 1, and seconds until the year 2242. */
const longestOctal = 8 ** 11 - 1;
const longestOwner = 8 ** 7 - 1;

/** Writes the header at the offset, preceded by a pax header where ustar cannot say everything; returns where it ends. */
export function writeHeader(into: Buffer, at: number, entry: EntryHeader): number {
  const path = entry.kind === 'folder' ? `${entry.path}/` : entry.path;
  const name = splitName(path);
  const records = extendedRecords(entry, name === undefined ? path : undefined);
  let end = at;
  if (records !== '') {
    const size = records.length;
    end = writeBlock(into, end, { kind: 'x', name: extendedName, mode: 0o644, uid: 0, gid: 0, size, seconds: 0, target: '' });
    writeText(into, end, records);
    end += size;
    into.fill(0, end, end + paddingOf(size));
    end += paddingOf(size);
  }
  return writeBlock(into, end, {
    kind: kinds[entry.kind],
    name: name ?? { prefix: '', name: path.slice(0, fields.name.bytes) },
    mode: entry.mode,
    uid: within(entry.uid, longestOwner),
    gid: within(entry.gid, longestOwner),
    size: within(entry.size, longestOctal),
    seconds: within(Math.floor(entry.modifiedAtUs / 1e6), longestOctal),
    target: (entry.target ?? '').slice(0, fields.target.bytes),
  });
}

interface Block {
  readonly kind: string;
  readonly name: SplitName;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly seconds: number;
  readonly target: string;
}

/** Byte by byte: calls of Buffer cost more than these short fields, and thousands of entries have a header of two blocks each. */
function writeBlock(into: Buffer, at: number, block: Block): number {
  into.set(emptyHeader, at);
  let sum = emptySum;
  sum += writeText(into, at + fields.name.at, block.name.name);
  sum += writeOctal(into, at + fields.mode.at + 7, block.mode);
  sum += writeOctal(into, at + fields.uid.at + 7, block.uid);
  sum += writeOctal(into, at + fields.gid.at + 7, block.gid);
  sum += writeOctal(into, at + fields.size.at + 11, block.size);
  sum += writeOctal(into, at + fields.mtime.at + 11, block.seconds);
  sum += writeText(into, at + fields.kind.at, block.kind);
  sum += writeText(into, at + fields.target.at, block.target);
  sum += writeText(into, at + fields.prefix.at, block.name.prefix);
  writeOctal(into, at + fields.checksum.at + 6, sum);
  return at + blockBytes;
}

const emptyHeader = headerTemplate();
const emptySum = checksumOf(emptyHeader);

/** A block whose numbers are all zeros. */
function headerTemplate(): Buffer {
  const block = Buffer.alloc(blockBytes);
  for (const { at, bytes } of [fields.mode, fields.uid, fields.gid, fields.size, fields.mtime])
    block.fill('0', at, at + bytes - 1);
  block.write('000000\0 ', fields.checksum.at);
  block.write('ustar\x0000', fields.magic.at);
  return block;
}

/** Returns the sum of the bytes. */
function writeText(into: Buffer, at: number, text: string): number {
  let sum = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    into[at + index] = code;
    sum += code;
  }
  return sum;
}

/** Over zeros, from the last digit on. Returns by how much the sum of the bytes grows. */
function writeOctal(into: Buffer, end: number, value: number): number {
  let sum = 0;
  for (let [left, at] = [value, end - 1]; left > 0; at -= 1) {
    const digit = left % 8;
    into[at] = 0x30 + digit;
    sum += digit;
    left = (left - digit) / 8;
  }
  return sum;
}

/** What the field cannot hold stands in the pax header instead. */
function within(value: number, longest: number): number {
  return value >= 0 && value <= longest ? value : 0;
}

interface SplitName {
  readonly prefix: string;
  readonly name: string;
}

/** As ustar divides a path at a slash; undefined if it does not fit. */
function splitName(path: string): SplitName | undefined {
  if (path.length <= fields.name.bytes) return { prefix: '', name: path };
  if (path.length > fields.prefix.bytes + 1 + fields.name.bytes) return undefined;
  const at = path.indexOf('/', path.length - fields.name.bytes - 1);
  if (at <= 0 || at > fields.prefix.bytes || at === path.length - 1) return undefined;
  return { prefix: path.slice(0, at), name: path.slice(at + 1) };
}

/** Of a pax header; programs that do not know such headers unpack it as a file. */
const extendedName: SplitName = { prefix: '', name: 'PaxHeaders/entry' };

function extendedRecords(entry: EntryHeader, longPath: string | undefined): string {
  const { modifiedAtUs: us, target = '' } = entry;
  const longTarget = target.length > fields.target.bytes ? target : undefined;
  let records = '';
  if (us % 1e6 !== 0 || us < 0 || us > longestOctal * 1e6) records += record('mtime', secondsText(us));
  if (longPath !== undefined || longTarget !== undefined) {
    // Values are UTF-8 unless this record says otherwise.
    if (!isUtf8(Buffer.from((longPath ?? '') + (longTarget ?? ''), 'latin1'))) records += record('hdrcharset', 'BINARY');
    if (longPath !== undefined) records += record('path', longPath);
    if (longTarget !== undefined) records += record('linkpath', longTarget);
  }
  if (entry.size > longestOctal) records += record('size', String(entry.size));
  if (entry.uid > longestOwner) records += record('uid', String(entry.uid));
  if (entry.gid > longestOwner) records += record('gid', String(entry.gid));
  return records;
}

function secondsText(us: number): string {
  const [whole, part] = [Math.floor(Math.abs(us) / 1e6), Math.abs(us) % 1e6];
  return `${us < 0 ? '-' : ''}${whole}.${String(part).padStart(6, '0')}`;
}

/** `LENGTH key=value\n`, where the length counts itself. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
}
