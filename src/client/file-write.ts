// Writes one file through a flow, and checks that the server wrote what was sent.

import { type FileStatus, type Result, execError } from '../protocol/index.js';
import type { ExecLink } from './exec-link.js';
import { sendThrough } from './file-flow.js';
import type { Sha256 } from './local-files.js';

export interface WriteOptions {
  /**
   * `replace` when absent: readers see the old file or the new one, never a part. It follows links and keeps permissions and owner.
   * `inPlace` overwrites the file itself, `append` adds to it, and `create` fails if it exists.
   */
  readonly mode?: 'replace' | 'inPlace' | 'append' | 'create';
  /** When absent: those of the old file, or 0666 without the server's umask. */
  readonly permissions?: number;
  /** Create missing folders above it; false when absent. */
  readonly createParents?: boolean;
  /** Write only if the file does not exist, or is still as an earlier status describes it. */
  readonly expected?: 'absent' | Pick<FileStatus, 'size' | 'modifiedAtMs' | 'inode'>;
  readonly signal?: AbortSignal;
}

/** `how` is `inPlace`, although `replace` was asked for, where the folder or the file system allows no rename. */
export type FileWritten = Result<'files/write'>;

export interface Writing {
  readonly path: string;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Without one, only the length is compared. */
  readonly hash: Sha256 | undefined;
}

export async function writeContent(
  link: ExecLink,
  { path, chunks, hash }: Writing,
  { signal, ...options }: WriteOptions,
): Promise<FileWritten> {
  let sentBytes = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      hash?.update(chunk);
      sentBytes += chunk.length;
      yield chunk;
    }
  };
  const call = (flowId: number) => link.service['files/write']({ flowId, path, ...options });
  const written = await sendThrough(link, { chunks: counted(), call, signal });
  if (written.bytes === sentBytes && (hash === undefined || hash.digest() === written.sha256)) return written;
  throw execError('fileFailed', {
    problem: `${path} was damaged on the way: ${sentBytes} bytes were sent, and the server has ${written.bytes} bytes or different ones`,
  });
}
