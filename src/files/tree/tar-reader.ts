// Reads the headers of a tar archive: ustar, pax, and what GNU tar writes. Knows no files.

import { FileError } from '../file-error.js';
import type { ArchiveBytes } from './archive-bytes.js';
import { pathBelow } from './entry-path.js';
import { blockBytes, checksumOf, fields, paddingOf } from './tar-format.js';

export interface ArchivedEntry {
  readonly kind: 'file' | 'folder' | 'link' | 'hardLink' | 'fifo' | 'device' | 'unknown';
  /** Relative, without `.` and slashes at the ends; '' is the tree itself. */
  readonly path: string;
  /** Of the contents that follow. */
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedAtUs: number;
  /** Of both kinds of link. */
  readonly target: string;
}

/** Bytes of an extended header. The longest path that Linux takes has 4 KiB; more than this is no header. */
const longestRecords = 1024 * 1024;

const kinds: Readonly<Record<string, ArchivedEntry['kind']>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardLink',
  '2': 'link',
  '3': 'device',
  '4': 'device',
  '5': 'folder',
  '6': 'fifo',
};

type Records = Readonly<Record<string, string>>;

/** Most entries have none, or few: joining and searching them for each of thousands of files would show. */
const noRecords: Records = {};

export class TarReader {
  readonly #bytes: ArchiveBytes;
  /** The block of a header whose extended records have not arrived in full. */
  #extended: Buffer | undefined;
  #shared: Records = noRecords;
  #own: Records = noRecords;

  constructor(bytes: ArchiveBytes) {
    this.#bytes = bytes;
  }

  /** The next header; `more` if the rest of it has not arrived. The caller takes the contents before it calls again. */
  next(): ArchivedEntry | 'more' | 'end' {
    for (;;) {
      const block = this.#extended ?? this.#bytes.take(blockBytes);
      if (block === undefined) return 'more';
      if (this.#extended === undefined && isEmpty(block)) return 'end';
      if (this.#extended === undefined) check(block);
      const type = String.fromCharCode(block[fields.kind.at] ?? 0);
      if (!'xgLK'.includes(type)) return this.#entry(block, type);
      this.#extended = block;
      if (!this.#readExtended(type, sizeIn(block))) return 'more';
      this.#extended = undefined;
    }
  }

  #readExtended(type: string, size: number): boolean {
    if (size > longestRecords) throw malformed(`has an extended header of ${size} bytes`);
    const body = this.#bytes.take(size + paddingOf(size))?.subarray(0, size);
    if (body === undefined) return false;
    if (type === 'g') this.#shared = { ...this.#shared, ...recordsIn(body) };
    else if (type === 'x') this.#own = this.#own === noRecords ? recordsIn(body) : { ...this.#own, ...recordsIn(body) };
    else this.#own = { ...this.#own, [type === 'L' ? 'path' : 'linkpath']: textIn(body, { at: 0, bytes: size }) };
    return true;
  }

  #entry(block: Buffer, type: string): ArchivedEntry {
    const records = this.#shared === noRecords ? this.#own : { ...this.#shared, ...this.#own };
    this.#own = noRecords;
    const path = records['path'] ?? ustarPath(block);
    if (type === 'S' || records[sparse] !== undefined) {
      throw malformed(`stores "${path}" as a sparse file, which is not supported`);
    }
    const kind = kinds[type] ?? 'unknown';
    const seconds = records['mtime'];
    return {
      kind: kind === 'file' && path.endsWith('/') ? 'folder' : kind,
      path: pathBelow(path),
      size: kind === 'file' || kind === 'unknown' ? (decimal(records['size']) ?? sizeIn(block)) : 0,
      mode: numberIn(block, fields.mode) & 0o7777,
      uid: decimal(records['uid']) ?? numberIn(block, fields.uid),
      gid: decimal(records['gid']) ?? numberIn(block, fields.gid),
      modifiedAtUs: seconds === undefined ? numberIn(block, fields.mtime) * 1e6 : microseconds(seconds),
      target: records['linkpath'] ?? textIn(block, fields.target),
    };
  }
}

export function malformed(problem: string): FileError {
  return new FileError('refused', `the archive ${problem}`);
}

function isEmpty(block: Buffer): boolean {
  return block[0] === 0 && block.every((byte) => byte === 0);
}

function check(block: Buffer): void {
  const stored = numberIn(block, fields.checksum);
  if (checksumOf(block) !== stored) throw malformed('is damaged: the checksum of a header is wrong');
}

function ustarPath(block: Buffer): string {
  const name = textIn(block, fields.name);
  // GNU's own format has other things in the place of the prefix; its magic ends in spaces.
  const prefix = block[fields.magic.at + 5] === 0 ? textIn(block, fields.prefix) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

interface Field {
  readonly at: number;
  readonly bytes: number;
}

function textIn(block: Buffer, { at, bytes }: Field): string {
  const nul = block.indexOf(0, at);
  return block.toString('latin1', at, nul < 0 ? at + bytes : Math.min(nul, at + bytes));
}

/** Octal digits; or, where those do not suffice, GNU's form: big-endian bytes, with the first bit set. */
function numberIn(block: Buffer, { at, bytes }: Field): number {
  const first = block[at] ?? 0;
  let value = 0;
  if (first >= 0x80) {
    // Two's complement: 0xff begins a negative number, such as a time before 1970.
    value = first === 0xff ? -1 : first & 0x7f;
    for (let index = at + 1; index < at + bytes; index += 1) value = value * 256 + (block[index] ?? 0);
  } else {
    for (let index = at; index < at + bytes; index += 1) {
      const digit = (block[index] ?? 0) - 0x30;
      if (digit >= 0 && digit <= 7) value = value * 8 + digit;
      else if (value !== 0) break;
    }
  }
  if (!Number.isSafeInteger(value)) throw malformed(`has a number that is too large: ${value}`);
  return value;
}

/** Stands for all records with this prefix. */
const sparse = 'GNU.sparse.';

function sizeIn(block: Buffer): number {
  const size = numberIn(block, fields.size);
  if (size < 0) throw malformed(`has an entry of ${size} bytes`);
  return size;
}

/** `LENGTH key=value\n`, one after the other. */
function recordsIn(body: Buffer): Records {
  const records: Record<string, string> = {};
  for (let at = 0; at < body.length;) {
    const space = body.indexOf(0x20, at);
    const length = space < 0 ? undefined : decimal(body.toString('latin1', at, space));
    const equals = body.indexOf(0x3d, space);
    const end = at + (length ?? 0);
    if (length === undefined || equals < 0 || equals >= end || end > body.length || body[end - 1] !== 0x0a) {
      throw malformed('has an extended header that cannot be read');
    }
    const key = body.toString('latin1', space + 1, equals);
    records[key.startsWith(sparse) ? sparse : key] = body.toString('latin1', equals + 1, end - 1);
    at = end;
  }
  return records;
}

function decimal(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw malformed(`has a number that cannot be read: "${text.slice(0, 40)}"`);
  return value;
}

function microseconds(text: string): number {
  const { sign, whole, part = '' } = /^(?<sign>-?)(?<whole>\d{1,12})(?:\.(?<part>\d*))?$/.exec(text)?.groups ?? {};
  if (whole === undefined) throw malformed(`has a time that cannot be read: "${text.slice(0, 40)}"`);
  const us = Number(whole) * 1e6 + Number(part.slice(0, 6).padEnd(6, '0'));
  return sign === '-' ? -us : us;
}
