// The parts of the tar format that reading and writing share: POSIX pax, that is ustar blocks with extended headers.

/** Everything in an archive is a whole number of blocks, in bytes. */
export const blockBytes = 512;

/** The fields of a header block: where each begins, and its bytes. */
export const fields = {
  name: { at: 0, bytes: 100 },
  mode: { at: 100, bytes: 8 },
  uid: { at: 108, bytes: 8 },
  gid: { at: 116, bytes: 8 },
  size: { at: 124, bytes: 12 },
  mtime: { at: 136, bytes: 12 },
  checksum: { at: 148, bytes: 8 },
  kind: { at: 156, bytes: 1 },
  target: { at: 157, bytes: 100 },
  magic: { at: 257, bytes: 8 },
  prefix: { at: 345, bytes: 155 },
} as const;

export function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

/** The sum of the header's bytes, with its own field taken as spaces. */
export function checksumOf(block: Uint8Array): number {
  let sum = 8 * 0x20;
  for (let at = 0; at < fields.checksum.at; at += 1) sum += block[at] ?? 0;
  for (let at = fields.kind.at; at < blockBytes; at += 1) sum += block[at] ?? 0;
  return sum;
}
