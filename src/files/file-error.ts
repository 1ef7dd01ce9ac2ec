// Why an operation on files did not happen, in the three families that callers tell apart. Knows no wire codes.

import { getSystemErrorName } from 'node:util';

/**
 * - `notFound`: ENOENT and nothing else
 * - `refused`: permissions, and every rule of this layer
 * - `failed`: the file system could not do it
 * - `badUri`: the text is no file: URI at all
 */
export type FileErrorKind = 'notFound' | 'refused' | 'failed' | 'badUri';

export class FileError extends Error {
  override readonly name = 'FileError';
  readonly kind: FileErrorKind;
  /** Such as `ENOENT`. Undefined when a rule of this layer decided. */
  readonly errno: string | undefined;

  constructor(kind: FileErrorKind, message: string, options: { errno?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.errno = options.errno;
  }
}

/** A rule of this layer forbids it. */
export function refused(message: string): FileError {
  return new FileError('refused', message);
}

/** The kernel's own error, for a decision that this layer makes in its place. */
export function systemError(errno: 'ENOENT' | 'ENOTDIR' | 'ELOOP' | 'EEXIST' | 'EISDIR', shown: string): FileError {
  return new FileError(kindOf(errno), `${errno}: ${words[errno]}, "${shown}"`, { errno });
}

const words = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  ELOOP: 'too many symbolic links encountered',
  EEXIST: 'file already exists',
  EISDIR: 'illegal operation on a directory',
} as const;

/**
 * Converts whatever an operation threw. `shown` is the path as its caller spelled it; it replaces the path in the text, which may be one
 * below /proc/self/fd that means nothing to the caller.
 */
export function fileErrorOf(error: unknown, shown?: string): FileError {
  if (error instanceof FileError) return error;
  const errno = errnoOf(error);
  const text = error instanceof Error ? error.message : String(error);
  if (errno === undefined) return new FileError('failed', text, { cause: error });
  const [said] = /^E\w+: .*?, \w+/.exec(text) ?? [];
  const message = shown === undefined || said === undefined ? text : `${said} "${shown}"`;
  return new FileError(kindOf(errno), message, { errno, cause: error });
}

/** Converts what `act` throws, with the path that it acts on. */
export async function namingPath<T>(shown: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw fileErrorOf(error, shown);
  }
}

/** The name of the errno that a Node error carries. */
export function errnoOf(error: unknown): string | undefined {
  if (error instanceof FileError) return error.errno;
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  if (error.code === 'ERR_INVALID_ARG_VALUE' || error.code === 'ERR_OUT_OF_RANGE') return 'EINVAL';
  // `fs.cp` and others have codes of their own; their number is still the system's.
  if ('errno' in error && typeof error.errno === 'number' && error.errno < 0) return getSystemErrorName(error.errno);
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}

function kindOf(errno: string): FileErrorKind {
  if (errno === 'ENOENT') return 'notFound';
  return errno === 'EACCES' || errno === 'EPERM' || errno === 'EINVAL' ? 'refused' : 'failed';
}
