// Copies whole trees and single files between this machine and the server's. A tree travels as one tar archive, whose checksum both sides
// compare. An interrupted transfer can be continued file by file.

import { type TreeResult, execError, isExecError } from '../protocol/index.js';
import { ConnectionClosedError } from '../rpc/rpc-error.js';
import type { ExecLink } from './exec-link.js';
import { openContent } from './file-content.js';
import { flowFailure, sendThrough } from './file-flow.js';
import { writeContent } from './file-write.js';
import type { DigestEntry, LocalFiles, TransferProgress } from './local-files.js';

export interface TransferOptions {
  /** Names or relative paths of a folder to leave out; * and ? match. */
  readonly exclude?: readonly string[];
  /** Called often; must not throw. */
  readonly onProgress?: (progress: TransferProgress) => void;
  /** Continue an interrupted transfer of a folder: skip what is equal in size, time and SHA-256 on both sides. */
  readonly resume?: boolean;
  readonly signal?: AbortSignal;
}

/** What was transferred. */
export interface TransferResult {
  readonly files: number;
  readonly folders: number;
  readonly links: number;
  /** Content of the files. */
  readonly bytes: number;
  /** Files and links that were equal on both sides; 0 without `resume`. */
  readonly unchanged: number;
  /** What cannot be transferred, such as sockets; at most 1 000, `skippedCount` counts all. */
  readonly skipped: readonly { readonly path: string; readonly problem: string }[];
  readonly skippedCount: number;
}

export interface Transfer {
  readonly link: ExecLink;
  readonly local: LocalFiles;
  readonly localPath: string;
  readonly remotePath: string;
  readonly options: TransferOptions;
}

/** Paths in one request for a part of a tree: keeps the message far below the longest one. */
const pathsPerRequest = 1_000;

/** Skipped entries that a result names. */
const namedSkips = 1_000;

/** An archive has microseconds, and a status is a floating-point number of milliseconds. */
const timeToleranceMs = 0.002;

const nothing: TransferResult = { files: 0, folders: 0, links: 0, bytes: 0, unchanged: 0, skipped: [], skippedCount: 0 };

export async function upload(transfer: Transfer): Promise<TransferResult> {
  const { local, localPath } = transfer;
  const found = await local.stat(localPath);
  if (found === undefined) throw new Error(`cannot upload ${localPath}: there is no such file or folder`);
  return explained(localPath, () =>
    found.kind === 'directory' ? uploadFolder(transfer) : uploadFile(transfer, found.permissions),
  );
}

export async function download(transfer: Transfer): Promise<TransferResult> {
  const { link, remotePath } = transfer;
  const { kind, permissions } = await link.service['files/stat']({ path: remotePath });
  return explained(remotePath, () => (kind === 'directory' ? downloadFolder(transfer) : downloadFile(transfer, permissions)));
}

async function uploadFolder(transfer: Transfer): Promise<TransferResult> {
  const { link, local, localPath, remotePath, options } = transfer;
  const { onProgress, signal, exclude } = options;
  const equal = new Set<string>();
  if (options.resume === true) {
    const there = await indexOf(remoteDigest(transfer));
    for await (const entry of local.digest(localPath))
      if (isEqual(entry, there.get(entry.relativePath))) equal.add(entry.relativePath);
  }
  let packed: TreeResult | undefined;
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    packed = yield* local.pack(localPath, { onProgress, signal, exclude, isEqual: (path) => equal.has(path) });
  };
  const call = (flowId: number) => link.service['files/upload']({ flowId, path: remotePath });
  const unpacked = await sendThrough(link, { chunks: chunks(), call, signal });
  if (packed === undefined || packed.sha256 !== unpacked.sha256) throw damaged(localPath);
  return [packed, { ...unpacked, files: 0, folders: 0, links: 0, bytes: 0 }].reduce(sum, { ...nothing, unchanged: equal.size });
}

async function downloadFolder(transfer: Transfer): Promise<TransferResult> {
  if (transfer.options.resume !== true) return sum(nothing, await downloadPart(transfer, undefined, nothing));
  const here = await indexOf(transfer.local.digest(transfer.localPath));
  let result = nothing;
  let wanted: string[] = [];
  const fetchWanted = async (): Promise<void> => {
    if (wanted.length > 0) result = sum(result, await downloadPart(transfer, wanted, result));
    wanted = [];
  };
  for await (const entry of remoteDigest(transfer)) {
    if (isEqual(entry, here.get(entry.relativePath))) result = { ...result, unchanged: result.unchanged + 1 };
    else wanted.push(entry.relativePath);
    if (wanted.length >= pathsPerRequest) await fetchWanted();
  }
  await fetchWanted();
  return result;
}

/** All of a folder, or only some paths in it, after what was transferred `before`. */
async function downloadPart(
  { link, local, localPath, remotePath, options }: Transfer,
  only: string[] | undefined,
  before: TransferResult,
): Promise<TreeResult> {
  const { signal, exclude } = options;
  const onProgress = ({ files, bytes, path }: TransferProgress): void =>
    options.onProgress?.({ files: before.files + files, bytes: before.bytes + bytes, path });
  signal?.throwIfAborted();
  const flow = link.openFlow();
  const request = { flowId: flow.id, path: remotePath, only, exclude: exclude === undefined ? undefined : [...exclude] };
  const sending = link.service['files/download'](request);
  sending.catch(() => {}); // awaited below, unless unpacking fails first
  flow.end();
  const abort = (): void => flow.reset('the client has cancelled the transfer');
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const unpacked = await local.unpack(localPath, flow, { onProgress, signal });
    const sent = await sending;
    if (sent.sha256 !== unpacked.sha256) throw damaged(remotePath);
    return {
      ...unpacked,
      skipped: [...sent.skipped, ...unpacked.skipped],
      skippedCount: sent.skippedCount + unpacked.skippedCount,
    };
  } catch (error) {
    flow.reset('the client has stopped reading');
    signal?.throwIfAborted();
    const failure = await flowFailure(link, error);
    // The server resets the flow when its call fails, so the reply has the reason.
    if (failure !== error) await sending;
    throw failure;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

async function uploadFile(
  { link, local, localPath, remotePath, options }: Transfer,
  permissions: number,
): Promise<TransferResult> {
  const { signal, onProgress } = options;
  const name = local.nameOf(localPath);
  const there = await statOf(link, remotePath);
  const path = there?.kind === 'directory' ? below(remotePath, name) : remotePath;
  const isNew = there === undefined || (there.kind === 'directory' && (await statOf(link, path)) === undefined);
  const chunks = counted(local.read(localPath), (bytes) => onProgress?.({ files: 1, bytes, path: name }));
  const { bytes } = await writeContent(
    link,
    { path, chunks, hash: local.sha256() },
    { ...(isNew ? { permissions } : {}), ...(signal === undefined ? {} : { signal }) },
  );
  return { ...nothing, files: 1, bytes };
}

async function downloadFile(
  { link, local, localPath, remotePath, options }: Transfer,
  permissions: number,
): Promise<TransferResult> {
  const { signal, onProgress } = options;
  const name = nameOf(remotePath);
  const here = await local.stat(localPath);
  const path = here?.kind === 'directory' ? local.join(localPath, name) : localPath;
  await using content = await openContent(link, remotePath);
  const abort = (): void => void content[Symbol.asyncDispose]();
  signal?.addEventListener('abort', abort, { once: true });
  let bytes = 0;
  const chunks = counted(content, (count) => {
    bytes = count;
    onProgress?.({ files: 1, bytes, path: name });
  });
  try {
    signal?.throwIfAborted();
    await local.replace(path, chunks, permissions);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
  return { ...nothing, files: 1, bytes };
}

async function* counted(chunks: AsyncIterable<Uint8Array>, tell: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    tell(bytes);
    yield chunk;
  }
}

/** Nothing if the folder does not exist. */
async function* remoteDigest({ link, remotePath }: Transfer): AsyncGenerator<DigestEntry> {
  try {
    for (let after: string | undefined, isMore = true; isMore;) {
      const page: { readonly entries: readonly DigestEntry[]; readonly next?: string | undefined } = await link.service[
        'files/digest'
      ]({
        path: remotePath,
        after,
      });
      yield* page.entries;
      after = page.next;
      isMore = after !== undefined;
    }
  } catch (error) {
    if (!isExecError(error, 'fileNotFound')) throw error;
  }
}

async function indexOf(entries: AsyncIterable<DigestEntry>): Promise<ReadonlyMap<string, DigestEntry>> {
  const index = new Map<string, DigestEntry>();
  for await (const entry of entries) index.set(entry.relativePath, entry);
  return index;
}

/** Folders are never equal: sending one costs little, and sets its time again. */
function isEqual(one: DigestEntry, other: DigestEntry | undefined): boolean {
  if (one.kind !== other?.kind) return false;
  if (one.kind === 'symlink') return one.target === other.target;
  if (one.kind !== 'file' || one.sha256 === undefined) return false;
  const isSameTime = Math.abs(one.modifiedAtMs - other.modifiedAtMs) <= timeToleranceMs;
  return one.size === other.size && isSameTime && one.sha256 === other.sha256;
}

async function statOf(link: ExecLink, path: string) {
  try {
    return await link.service['files/stat']({ path });
  } catch (error) {
    if (isExecError(error, 'fileNotFound')) return undefined;
    throw error;
  }
}

function sum(one: TransferResult, other: Omit<TransferResult, 'unchanged'>): TransferResult {
  return {
    files: one.files + other.files,
    folders: one.folders + other.folders,
    links: one.links + other.links,
    bytes: one.bytes + other.bytes,
    unchanged: one.unchanged,
    skipped: [...one.skipped, ...other.skipped].slice(0, namedSkips),
    skippedCount: one.skippedCount + other.skippedCount,
  };
}

/** A file: URI too has its name after the last slash. */
function nameOf(path: string): string {
  const name = path.replace(/\/+$/, '').replace(/^.*\//s, '');
  return path.startsWith('file:') ? decodeURIComponent(name) : name;
}

function below(folder: string, name: string): string {
  const last = folder.startsWith('file:') ? encodeURIComponent(name) : name;
  return folder.endsWith('/') ? `${folder}${last}` : `${folder}/${last}`;
}

function damaged(path: string): Error {
  return execError('fileFailed', {
    problem: `${path} was damaged on the way: the checksums of both sides differ; transfer it again`,
  });
}

/** A lost connection leaves whole files behind, so the caller is told how to go on from there. */
async function explained<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ConnectionClosedError)) throw error;
    throw new ConnectionClosedError(
      `the transfer of ${path} was interrupted: ${error.message}; call again with "resume" to skip what has arrived`,
    );
  }
}
