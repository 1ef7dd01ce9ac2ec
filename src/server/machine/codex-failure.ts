// Failures of the files layer in Codex's words, which its client passes on to models and people.

import { constants } from 'node:os';
import { FileError } from '../../files/index.js';
import { fileFailureOf } from './file-failure.js';

/** As Codex's own server, which is built with musl, calls them. */
const words: Readonly<Record<string, string>> = {
  EACCES: 'Permission denied',
  EBADF: 'Bad file descriptor',
  EBUSY: 'Resource busy',
  EDQUOT: 'Quota exceeded',
  EEXIST: 'File exists',
  EFBIG: 'File too large',
  EINVAL: 'Invalid argument',
  EIO: 'I/O error',
  EISDIR: 'Is a directory',
  ELOOP: 'Symbolic link loop',
  EMFILE: 'No file descriptors available',
  ENAMETOOLONG: 'Filename too long',
  ENOENT: 'No such file or directory',
  ENOSPC: 'No space left on device',
  ENOTDIR: 'Not a directory',
  ENOTEMPTY: 'Directory not empty',
  ENXIO: 'No such device or address',
  EPERM: 'Operation not permitted',
  EROFS: 'Read-only file system',
  ETXTBSY: 'Text file busy',
  EXDEV: 'Cross-device link',
};

export function codexFailureOf(error: unknown): unknown {
  if (!(error instanceof FileError)) return error;
  const { kind, errno } = error;
  return fileFailureOf(new FileError(kind, codexMessage(error), { ...(errno === undefined ? {} : { errno }), cause: error }));
}

function codexMessage({ errno = '', message }: FileError): string {
  const [text, number] = [words[errno], new Map(Object.entries(constants.errno)).get(errno)];
  return text === undefined || number === undefined ? message : `${text} (os error ${number})`;
}
