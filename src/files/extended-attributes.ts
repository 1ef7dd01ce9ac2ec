// The extended attributes of a file that a replacement keeps: those of users, access lists, and the label of SELinux. Capabilities go, as
// with every write by another program.

import { closeSync, constants } from 'node:fs';
import { errnoOf } from './file-error.js';
import { type HeldFolder, terminated } from './held-folder.js';

/** Bytes of all names, and of a value: the kernel allows no more. */
const longestList = 64 * 1024;

/** The file may be written but not read, or is another one by now. */
const unreadable = new Set(['EACCES', 'ENOENT', 'ELOOP', 'ENXIO']);

const kept = /^(?:user\.|system\.posix_acl_access$|security\.selinux$)/;

/** From a file of this folder, where it can be read and the file system takes them. */
export function copyAttributes(folder: HeldFolder, name: string, to: number): void {
  const { calls } = folder;
  if (calls === undefined) return;
  let from: number;
  try {
    from = folder.openFile(name, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (!unreadable.has(errnoOf(error) ?? '')) throw error;
    return;
  }
  try {
    const bytes = Buffer.allocUnsafe(longestList);
    const length = calls.flistxattr(from, bytes, bytes.length);
    if (length <= 0) return;
    for (const attribute of bytes.toString('latin1', 0, length).split('\0')) {
      if (!kept.test(attribute)) continue;
      const size = calls.fgetxattr(from, terminated(attribute), bytes, bytes.length);
      if (size >= 0) calls.fsetxattr(to, terminated(attribute), bytes.subarray(0, size), size, 0);
    }
  } finally {
    closeSync(from);
  }
}
