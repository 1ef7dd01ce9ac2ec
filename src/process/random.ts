// Random numbers from where Node's crypto has its own, the operating system. Loading that takes 5 ms and 3 MB, for a few bytes.

import { randomFillSync } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';

/** Fit for secrets. */
export function randomBytes(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  return readSystem(bytes) ? bytes : randomFillSync(bytes);
}

/** A whole number from 0 up to below `limit`, at most 2^40; so nearly equally likely that no one can tell. */
export function randomBelow(limit: number): number {
  return randomBytes(6).readUIntBE(0, 6) % limit;
}

/** A version 4 UUID, RFC 9562 §5.4. */
export function randomUuid(): string {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** False where the device is missing or gave less than was asked for, as in a bare chroot. */
function readSystem(bytes: Buffer): boolean {
  let descriptor: number;
  try {
    descriptor = openSync('/dev/urandom', 'r');
  } catch {
    return false;
  }
  try {
    return readSync(descriptor, bytes) === bytes.length;
  } finally {
    closeSync(descriptor);
  }
}
