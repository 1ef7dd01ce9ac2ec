// Codex's calls about files: reads parameters, judges the sandbox, calls the files layer, and answers in Codex's words.

import {
  FileError,
  type NativePath,
  OpenFile,
  type WholeFile,
  canonicalise,
  copy,
  makeDirectory,
  metadata,
  pathFromUri,
  readDirectoryWithinLimit,
  readFile,
  remove,
  uriOfPath,
  walk,
  writeInPlace,
} from '../../files/index.js';
import { decodeBase64 } from '../../base/base64.js';
import { type Params, type SandboxContext, execError } from '../../protocol/index.js';
import type { AfterReply, CallContext, CallGroup, HandlersOf, MethodsOf, Notify } from './call-group.js';
import { codexFailureOf } from './codex-failure.js';
import { FileHandles } from './file-handles.js';
import { withFileFailures } from './file-failure.js';
import type { SharedFiles } from './machine.js';
import { MissingWatches } from './missing-watches.js';
import { requireUnconfined } from './sandbox-rule.js';

type Calls = HandlersOf<MethodsOf<'fs'>>;

/** Longest block, in bytes: Codex's limit. */
const longestBlock = 1024 * 1024;

export async function createCodexFileCalls(context: CallContext): Promise<CallGroup<MethodsOf<'fs'>>> {
  const shared = await context.machine.shared();
  const handles = new FileHandles(context.machine);
  const missing = new MissingWatches(context.machine, shared.watches);
  const replies = new PendingReplies(context.notify);
  const ended = new AbortController();
  return {
    calls: withFileFailures<Calls>(
      {
        ...fileCalls(shared, replies),
        ...folderCalls(shared, ended.signal),
        ...handleCalls(shared, handles),
        'fs/watchMissing': async (params, afterReply) => watchMissing(params, { shared, missing, context, afterReply }),
      },
      codexFailureOf,
    ),
    flowCalls: {},
    end: () => {
      ended.abort(new FileError('failed', 'the connection has ended'));
      handles.end();
      missing.end();
      replies.end();
    },
  };
}

function fileCalls({ paths, wholeReads }: SharedFiles, replies: PendingReplies) {
  return {
    'fs/readFile': async (params, afterReply) => {
      const file = await readFile(paths, pathIn(params, 'read'), { links: linksOf(params), budget: wholeReads });
      replies.hold(file, afterReply);
      return { dataBase64: file.bytes };
    },

    'fs/writeFile': async (params) => {
      const path = pathIn(params, 'write');
      const bytes = decodeBase64(params.dataBase64);
      if (bytes === undefined)
        throw refused('fs/writeFile requires valid base64 dataBase64: it must be padded, in the standard alphabet');
      await writeInPlace(paths, path, { bytes, links: linksOf(params) });
      return {};
    },

    'fs/getMetadata': async (params) => {
      const { kind, isLink, size, createdAtMs, modifiedAtMs } = await metadata(paths, pathIn(params, 'read'), {
        links: linksOf(params),
      });
      return {
        isDirectory: kind === 'directory',
        isFile: kind === 'file',
        isSymlink: isLink,
        size,
        createdAtMs: Math.trunc(createdAtMs),
        modifiedAtMs: Math.trunc(modifiedAtMs),
      };
    },

    'fs/canonicalize': async (params) => ({ path: uriOfPath(await canonicalise(paths, pathIn(params, 'read'))) }),

    'fs/remove': async (params) => {
      await remove(paths, pathIn(params, 'write'), {
        contents: params.recursive === false ? 'refuse' : 'remove',
        absent: params.force === false ? 'refuse' : 'accept',
        links: linksOf(params),
      });
      return {};
    },

    'fs/copy': async ({ sourcePath, destinationPath, recursive, sandbox }) => {
      const [from, to] = [pathFromUri(sourcePath), pathFromUri(destinationPath)];
      requireUnconfined(sandbox, 'write');
      await copy(paths, { from, to, folders: recursive ? 'copy' : 'refuse', existing: 'overwriteFiles', parents: 'make' });
      return {};
    },
  } satisfies Partial<Calls>;
}

function folderCalls({ paths }: SharedFiles, signal: AbortSignal) {
  return {
    'fs/createDirectory': async (params) => {
      await makeDirectory(paths, pathIn(params, 'write'), {
        parents: params.recursive === false ? 'require' : 'make',
        links: linksOf(params),
      });
      return {};
    },

    'fs/readDirectory': async (params) => {
      const entries = await readDirectoryWithinLimit(paths, pathIn(params, 'read'));
      return {
        entries: entries.map(({ name, kind }) => ({
          fileName: name.toString(),
          isDirectory: kind === 'directory',
          isFile: kind === 'file',
        })),
      };
    },

    'fs/walk': async (params) => {
      const { maxDepth, maxDirectories, maxEntries, followDirectorySymlinks, pruneHiddenDirectories } = params.options;
      const { entries, errors, isTruncated } = await walk(paths, pathIn(params, 'read'), {
        maxDepth,
        maxDirectories,
        maxEntries,
        directoryLinks: followDirectorySymlinks ? 'follow' : 'ignore',
        hiddenDirectories: pruneHiddenDirectories === true ? 'prune' : 'enter',
        signal,
      });
      return {
        entries: entries.map(({ path, kind }) => ({ path: uriOfPath(path), kind })),
        errors: errors.map(({ path, message }) => ({ path: uriOfPath(path), message })),
        truncated: isTruncated,
      };
    },
  } satisfies Partial<Calls>;
}

function handleCalls({ paths }: SharedFiles, handles: FileHandles) {
  return {
    'fs/open': async (params) => {
      const { handleId, mode } = params;
      const isRead = mode !== 'replace';
      const path = pathIn(params, isRead ? 'read' : 'write');
      await handles.open(handleId, async () =>
        OpenFile.open(paths, path, { mode: isRead ? 'read' : 'replace', links: 'follow' }),
      );
      return { handleId };
    },

    'fs/readBlock': async ({ handleId, offset, len }) => {
      requireBlock('read', len);
      const file = handles.get(handleId);
      try {
        const chunk = await file.readAt(offset, len);
        return { chunk, eof: chunk.length < len };
      } catch (error) {
        handles.close(handleId); // as in Codex: its client opens the file again
        throw error;
      }
    },

    'fs/writeBlock': async ({ handleId, offset, chunk }) => {
      requireBlock('write', chunk.length);
      await handles.get(handleId).writeAt(offset, chunk);
      return {};
    },

    'fs/close': async ({ handleId }) => {
      handles.close(handleId);
      return {};
    },
  } satisfies Partial<Calls>;
}

interface MissingCall {
  readonly shared: SharedFiles;
  readonly missing: MissingWatches;
  readonly context: CallContext;
  readonly afterReply: AfterReply;
}

async function watchMissing(params: Params<'fs/watchMissing'>, { shared, missing, context, afterReply }: MissingCall) {
  const { watchId, present } = params;
  const files = filesOf(params.missing, present ?? undefined);
  if (files === undefined) return { watching: false };
  let replied = false;
  let isChanged = false;
  const tell = (): void => {
    if (replied) void context.notify.missingChanged({ watchId });
    else isChanged = true;
  };
  afterReply(() => {
    replied = true;
    if (isChanged) tell();
  });
  const exists = async (path: NativePath): Promise<boolean> => existsFor(shared, path);
  return { watching: await missing.watch(watchId, { ...files, exists }, tell) };
}

/** Undefined if one of them can never exist here. */
function filesOf(missing: readonly string[], present: string | undefined) {
  try {
    return { missing: missing.map(pathFromUri), present: present === undefined ? undefined : pathFromUri(present) };
  } catch (error) {
    if (error instanceof FileError && error.kind === 'refused') return undefined;
    throw error;
  }
}

/** A path outside the roots is missing, and stays so. */
async function existsFor({ paths }: SharedFiles, path: NativePath): Promise<boolean> {
  try {
    await metadata(paths, path, { links: 'parents' });
    return true;
  } catch (error) {
    if (error instanceof FileError) return error.kind === 'refused';
    throw error;
  }
}

/** Files whose bytes have not been sent yet. They count towards the budget until then, or until the connection ends. */
class PendingReplies {
  readonly #notify: Notify;
  readonly #held = new Set<WholeFile>();
  #isEnded = false;

  constructor(notify: Notify) {
    this.#notify = notify;
  }

  hold(file: WholeFile, afterReply: AfterReply): void {
    if (this.#isEnded) return file.release();
    this.#held.add(file);
    afterReply(() => void this.#notify.nothing().then(() => this.#release(file)));
  }

  end(): void {
    this.#isEnded = true;
    for (const file of this.#held) this.#release(file);
  }

  #release(file: WholeFile): void {
    this.#held.delete(file);
    file.release(); // harmless if it has been released
  }
}

function pathIn(
  { path, sandbox }: { readonly path: string; readonly sandbox?: SandboxContext | null | undefined },
  access: 'read' | 'write',
): NativePath {
  const native = pathFromUri(path);
  requireUnconfined(sandbox, access);
  return native;
}

function linksOf({ followSymlinks }: { readonly followSymlinks?: boolean | null | undefined }): 'follow' | 'refuse' {
  return followSymlinks === false ? 'refuse' : 'follow';
}

function requireBlock(verb: 'read' | 'write', length: number): void {
  if (length < 1 || length > longestBlock) throw refused(`file ${verb} block length must be between 1 and ${longestBlock}`);
}

function refused(problem: string) {
  return execError('fileRefused', { problem });
}
