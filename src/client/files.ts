// The files of the server's machine. Content travels through flows, which continue after a lost connection. Paths are absolute, or file:
// URIs, which can also name files whose names are not UTF-8.

import { type FileStatus, type Params, type Result, execError, isExecError } from '../protocol/index.js';
import type { ExecLink } from './exec-link.js';
import { type FileContent, type RangeOptions, openContent, wholeOf } from './file-content.js';
import { type FileSource, chunksOf } from './file-flow.js';
import { type TransferOptions, type TransferResult, download, upload } from './file-transfer.js';
import { FileWatch, type WatchOptions } from './file-watch.js';
import { type FileWritten, type WriteOptions, writeContent } from './file-write.js';
import type { LocalFiles } from './local-files.js';
import type { Platform } from './platform.js';

export type FileEntry = Result<'files/list'>['entries'][number];
export type WalkEntry = Result<'files/walk'>['entries'][number];

export interface WalkOptions {
  /** 0: only the children of the folder; no limit when absent. */
  readonly maxDepth?: number;
  /** Called with each folder that cannot be read; when absent, the walk rejects there. */
  readonly onProblem?: (problem: { readonly path: string; readonly problem: string }) => void;
}

export interface TemporaryOptions {
  /** `file` when absent. */
  readonly kind?: 'file' | 'directory';
  readonly prefix?: string;
  /** The machine's folder for temporary files when absent. */
  readonly parent?: string;
}

/** An empty file or folder with a new name. Disposing removes it with everything in it. */
export interface Temporary extends AsyncDisposable {
  readonly path: string;
}

/** Calls reject with ExecError `fileNotFound`, `fileRefused` (by the system or the server), or `fileFailed`. */
export class Files {
  readonly #link: ExecLink;
  readonly #platform: Platform | undefined;
  #lastWatchId = 0;

  constructor(link: ExecLink, platform: Platform | undefined) {
    this.#link = link;
    this.#platform = platform;
  }

  /** Rejects for more than 512 MiB; read a range, or use `readStream`. */
  async read(path: string, range: RangeOptions = {}): Promise<Uint8Array> {
    await using content = await this.readStream(path, range);
    return await wholeOf(content);
  }

  /** As UTF-8. */
  async readText(path: string): Promise<string> {
    return new TextDecoder().decode(await this.read(path));
  }

  /** Resolves when the file is open. To be read once, or disposed. */
  async readStream(path: string, range: RangeOptions = {}): Promise<FileContent> {
    return openContent(this.#link, path, range);
  }

  /** Resolves when the file is in place; `how` says if a rename was not possible. Compares length and checksum with what was sent. */
  async write(path: string, content: FileSource, options: WriteOptions = {}): Promise<FileWritten> {
    const local = await this.#platform?.files();
    return writeContent(this.#link, { path, chunks: chunksOf(content), hash: local?.sha256() }, options);
  }

  /** Sorted by name. Links are not followed. */
  async list(path: string): Promise<FileEntry[]> {
    const entries: FileEntry[] = [];
    const page = (after?: string) => this.#link.service['files/list']({ path, after });
    for await (const { entries: more } of pages(page)) entries.push(...more);
    return entries;
  }

  /** Follows links unless `followSymlinks` is false. */
  stat(path: string, options: { readonly followSymlinks?: boolean } = {}): Promise<FileStatus> {
    return this.#link.service['files/stat']({ path, ...options });
  }

  /** Follows links, so it is false for one whose target is missing. */
  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (error) {
      if (isExecError(error, 'fileNotFound')) return false;
      if (isExecError(error, 'fileFailed') && error.data.errno === 'ENOTDIR') return false; // below a file
      throw error;
    }
  }

  /** Everything below a folder, depth first and sorted by name. Links are not followed. */
  async *walk(path: string, { onProblem, maxDepth }: WalkOptions = {}): AsyncGenerator<WalkEntry> {
    const page = (after?: string) => this.#link.service['files/walk']({ path, after, maxDepth });
    for await (const { entries, errors } of pages(page)) {
      yield* entries;
      for (const each of errors) {
        if (onProblem === undefined) throw execError('fileFailed', { problem: `cannot read ${each.path}: ${each.problem}` });
        onProblem(each);
      }
    }
  }

  /** Copies a file, a link or, if `recursive`, a folder on the server's machine. Replaces what is there unless `overwrite` is false. */
  async copy(from: string, to: string, options: Omit<Params<'files/copy'>, 'from' | 'to'> = {}): Promise<void> {
    await this.#link.service['files/copy']({ from, to, ...options });
  }

  /** `copied`: to another file system, so not in one step. Replaces what is there unless `overwrite` is false. */
  async move(from: string, to: string, options: Pick<Params<'files/move'>, 'overwrite'> = {}): Promise<'renamed' | 'copied'> {
    return (await this.#link.service['files/move']({ from, to, ...options })).how;
  }

  /** A folder that is not empty needs `recursive`. With `force`, it resolves to false if there is nothing. */
  async remove(path: string, options: Omit<Params<'files/remove'>, 'path'> = {}): Promise<boolean> {
    return (await this.#link.service['files/remove']({ path, ...options })).removed;
  }

  /** Creates missing parents and accepts an existing folder, unless `recursive` is false. */
  async makeDirectory(path: string, options: Omit<Params<'files/makeDirectory'>, 'path'> = {}): Promise<void> {
    await this.#link.service['files/makeDirectory']({ path, ...options });
  }

  /** Only its owner may open it. */
  async makeTemporary({ kind = 'file', ...options }: TemporaryOptions = {}): Promise<Temporary> {
    const { path } = await this.#link.service['files/makeTemporary']({ kind, ...options });
    return { path, [Symbol.asyncDispose]: async () => void (await this.remove(path, { recursive: true, force: true })) };
  }

  /** Begins at once; `ready` resolves when the server watches. A slow reader loses the oldest of 10 000 changes, and gets `overflow`. */
  watch(path: string, options: WatchOptions = {}): FileWatch {
    this.#lastWatchId += 1;
    return new FileWatch(this.#link, { watchId: this.#lastWatchId, path, ...options });
  }

  /**
   * Copies a folder or a file of this machine to the server's. What a folder contains is then in `remotePath`, along with what was there; a
   * file becomes `remotePath`, or gets its name in it if that is a folder. A lost connection continues by itself within the grace;
   * after that it rejects, and `resume` skips the files that are equal on both sides.
   */
  async upload(localPath: string, remotePath: string, options: TransferOptions = {}): Promise<TransferResult> {
    return upload({ link: this.#link, local: await this.#local('upload'), localPath, remotePath, options });
  }

  /** The same in the other direction. */
  async download(remotePath: string, localPath: string, options: TransferOptions = {}): Promise<TransferResult> {
    return download({ link: this.#link, local: await this.#local('download'), localPath, remotePath, options });
  }

  #local(method: 'upload' | 'download'): Promise<LocalFiles> {
    if (this.#platform !== undefined) return this.#platform.files();
    throw new Error(`${method} needs the files of this machine, which a browser does not give; use read and write`);
  }
}

/** Asks for the next page while the last one is being used. */
async function* pages<Page extends { readonly next?: string | undefined }>(
  load: (after?: string) => Promise<Page>,
): AsyncGenerator<Page> {
  for (let loading: Promise<Page> | undefined = load(); loading !== undefined;) {
    const page: Page = await loading;
    loading = page.next === undefined ? undefined : load(page.next);
    loading?.catch(() => {}); // awaited above, unless the caller leaves
    yield page;
  }
}
