// Writes a file in place, piece by piece: over its contents, or after them. What has been written stays when the writer is aborted.

import { closeSync, constants, fchmodSync, fstatSync } from 'node:fs';
import { errnoOf, fileErrorOf, namingPath, refused } from './file-error.js';
import { type FileWriter, type WriteOptions, WriterTurns, type WrittenFile, judge, syncFile } from './file-writer.js';
import { open, truncate, writeAll } from './fs-calls.js';
import { metadataOf } from './metadata.js';
import type { Spot } from './place.js';

const { O_APPEND, O_CREAT, O_EXCL, O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;

/** The rest of a longer old file is cut off at the end, not at the beginning. */
export async function overwriteFile(place: Spot, options: WriteOptions = {}): Promise<FileWriter> {
  return openInPlace(place, { ...options, how: 'inPlace' });
}

export async function appendFile(place: Spot, options: WriteOptions = {}): Promise<FileWriter> {
  return openInPlace(place, { ...options, how: 'appended' });
}

type InPlaceOptions = WriteOptions & { readonly how: 'inPlace' | 'appended' };

/** The place may be closed once this resolves. */
async function openInPlace(place: Spot, options: InPlaceOptions): Promise<FileWriter> {
  const { expected, how } = options;
  const exclusive = expected === 'absent' ? O_EXCL : 0;
  const flags = O_WRONLY | O_CREAT | exclusive | O_NONBLOCK | O_NOCTTY | place.openFlags;
  const fd = await namingPath(place.shown, async () =>
    open(place.path, how === 'appended' ? flags | O_APPEND : flags, options.mode),
  ).catch((error: unknown) => {
    // A socket, or a FIFO that has no reader.
    throw errnoOf(error) === 'ENXIO' ? refused(`path \`${place.shown}\` is not a file`) : error;
  });
  try {
    judge(fstatSync(fd), { expected: expected === 'absent' ? undefined : expected, shown: place.shown });
  } catch (error) {
    closeSync(fd);
    throw fileErrorOf(error, place.shown);
  }
  return inPlaceWriter({ fd, shown: place.shown, options });
}

function inPlaceWriter({ fd, shown, options }: { fd: number; shown: string; options: InPlaceOptions }): FileWriter {
  const turns = new WriterTurns(() => closeSync(fd));
  let size = 0;
  const commit = async (): Promise<WrittenFile> => {
    if (options.how === 'inPlace') await truncate(fd, size);
    if (options.mode !== undefined) fchmodSync(fd, options.mode);
    if (options.durability === 'fsync') await syncFile(fd);
    return { how: options.how, metadata: metadataOf(fstatSync(fd)) };
  };
  return {
    write: async (chunk) =>
      turns.take('one', async () => {
        await namingPath(shown, async () => writeAll(fd, chunk, null));
        size += chunk.length;
      }),
    commit: async () => turns.take('last', async () => namingPath(shown, commit)),
    abort: async () => turns.end(),
  };
}
