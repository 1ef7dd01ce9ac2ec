// Writes a whole file in place. Not atomic: for a replacement that is, see replace.ts.

import { close, writeAll } from './fs-calls.js';
import type { NativePath } from './native-path.js';
import type { Paths } from './paths.js';
import { openToReplace } from './regular-file.js';

export interface WriteFileOptions {
  readonly bytes: Uint8Array;
  readonly links: 'follow' | 'refuse';
}

/** Creates the file or truncates it, also through a dangling link. A character device is written to. */
export async function writeInPlace(paths: Paths, path: NativePath, { bytes, links }: WriteFileOptions): Promise<void> {
  await paths.using(path, { links, for: 'write' }, async (place) => {
    const { fd } = await openToReplace(place, { devices: 'accept' });
    try {
      await writeAll(fd, bytes, null);
    } finally {
      await close(fd); // a network file system may report only here that it could not write
    }
  });
}
