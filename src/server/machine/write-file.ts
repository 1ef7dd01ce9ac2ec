// Writes what arrives through a flow to a file.

import { createHash } from 'node:crypto';
import { joinBytes } from '../../base/join-bytes.js';
import {
  type ExpectedFile,
  FileError,
  type FileWriter,
  type NativePath,
  type Paths,
  type Place,
  appendFile,
  makeDirectory,
  overwriteFile,
  parentOf,
  pathFromUser,
  replaceFile,
} from '../../files/index.js';
import { type Params, type Result, execError } from '../../protocol/index.js';
import type { Flow } from '../../rpc/flow.js';
import { statusOf } from './file-description.js';
import type { SharedFiles } from './machine.js';

/** Resolves when the flow has ended and the file is in place. If the flow is reset, the old file stays, unless it was written in place. */
export async function writeFile(
  { paths, guard }: SharedFiles,
  params: Params<'files/write'>,
  flow: Flow,
): Promise<Result<'files/write'>> {
  const path = pathFromUser(params.path);
  const open = async (place: Place): Promise<FileWriter> => openWriter(place, params, guard);
  const writer = await openedAt(paths, path, { open, parents: params.createParents === true ? 'make' : 'require' });
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    await writeChunks(flow, writer, (chunk) => {
      hash.update(chunk);
      bytes += chunk.length;
    });
    const { how, metadata } = await writer.commit();
    flow.end();
    return { status: statusOf(path, metadata), bytes, how, sha256: hash.digest('hex') };
  } finally {
    await writer.abort(); // does nothing after a commit
  }
}

/** Written together at most, in bytes: as much as arrives before the client waits for the server to take it. */
const gatheredBytes = 1024 * 1024;

/** What arrives during a write is written together afterwards: each write takes a turn of the thread pool, however short it is. */
async function writeChunks(flow: Flow, writer: FileWriter, onChunk: (chunk: Uint8Array) => void): Promise<void> {
  let writing = Promise.resolve();
  let isWriting = false;
  let gathered: Uint8Array[] = [];
  let length = 0;
  const writeGathered = async (): Promise<void> => {
    const [first = new Uint8Array(0)] = gathered;
    const bytes = gathered.length > 1 ? joinBytes(gathered) : first;
    gathered = [];
    length = 0;
    isWriting = true;
    await writer.write(bytes);
    isWriting = false;
  };
  for await (const chunk of flow) {
    onChunk(chunk);
    gathered.push(chunk);
    length += chunk.length;
    if (isWriting && length < gatheredBytes) continue;
    await writing;
    writing = writeGathered();
    writing.catch(() => {}); // awaited above or below
  }
  await writing;
  await writeGathered();
}

interface Opening {
  readonly open: (place: Place) => Promise<FileWriter>;
  readonly parents: 'make' | 'require';
}

async function openedAt(paths: Paths, path: NativePath, { open, parents }: Opening): Promise<FileWriter> {
  try {
    return await paths.using(path, { links: 'follow', for: 'write' }, open);
  } catch (error) {
    if (parents === 'require' || !(error instanceof FileError) || error.kind !== 'notFound') throw error;
  }
  await makeDirectory(paths, parentOf(path), { parents: 'make', links: 'follow' });
  return paths.using(path, { links: 'follow', for: 'write' }, open);
}

async function openWriter(place: Place, params: Params<'files/write'>, guard: SharedFiles['guard']): Promise<FileWriter> {
  const options = { mode: params.permissions ?? undefined, expected: expectedOf(params.expected) };
  const staging = { names: guard };
  switch (params.mode ?? 'replace') {
    case 'replace':
      return replaceFile(place, { ...options, staging });
    case 'inPlace':
      return overwriteFile(place, options);
    case 'append':
      return appendFile(place, options);
    case 'create':
      return replaceFile(place, { ...options, staging, expected: 'absent' });
  }
}

function expectedOf(expected: Params<'files/write'>['expected']): ExpectedFile | undefined {
  if (expected === undefined || expected === null || expected === 'absent') return expected ?? undefined;
  const [device, inode] = expected.inode.split(':').map(Number);
  if (device === undefined || inode === undefined || !Number.isSafeInteger(device) || !Number.isSafeInteger(inode)) {
    throw execError('invalidParams', {
      problem: `expected.inode: expected the inode of an earlier status, got "${expected.inode}"`,
    });
  }
  return { size: expected.size, modifiedAtMs: expected.modifiedAtMs, device, inode };
}
