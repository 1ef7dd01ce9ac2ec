// The calls behind `client.files`: reads parameters, calls the files layer, and describes what it returns. Content goes through flows.

import { tmpdir } from 'node:os';
import {
  FileError,
  type NativePath,
  OpenFile,
  copy,
  digestTree,
  joinPath,
  listFolder,
  makeDirectory,
  makeTemporary,
  metadata,
  metadataOf,
  move,
  packTree,
  pathFromUser,
  relativePath,
  remove,
  shownPath,
  splitPath,
  unpackTree,
  walkTree,
} from '../../files/index.js';
import type { TreeResult } from '../../protocol/index.js';
import type { CallContext, CallGroup, FlowHandlersOf, HandlersOf, MethodsOf } from './call-group.js';
import { digestOf, entryOf, relativeFrom, relativeText, statusOf } from './file-description.js';
import { withFileFailures } from './file-failure.js';
import type { SharedFiles } from './machine.js';
import { type Range, sendFile } from './send-file.js';
import { exclusionOf, treeResultOf } from './tree-description.js';
import { Watching } from './watching.js';
import { writeFile } from './write-file.js';

type Calls = HandlersOf<MethodsOf<'files'>>;
type FlowCalls = FlowHandlersOf<'files/read' | 'files/write' | 'files/download' | 'files/upload'>;

/** Entries per page: about 1 MiB of reply. */
const mostEntries = 4_096;

export async function createFileCalls(context: CallContext): Promise<CallGroup<MethodsOf<'files'>>> {
  const shared = await context.machine.shared();
  const watching = new Watching(context, shared);
  return {
    calls: withFileFailures(callsOn(shared, watching)),
    flowCalls: withFileFailures(flowCallsOn(shared)),
    end: () => watching.end(),
  };
}

function callsOn({ paths }: SharedFiles, watching: Watching): Calls {
  return {
    'files/stat': async ({ path: given, followSymlinks }) => {
      const path = pathFromUser(given);
      return statusOf(path, await metadata(paths, path, { links: followSymlinks === false ? 'parents' : 'follow' }));
    },

    'files/list': async ({ path: given, after, limit }) => {
      const folder = pathFromUser(given);
      const { entries, next } = await listFolder(paths, folder, pageOf(after, limit));
      return {
        entries: entries.map((entry) => entryOf(joinPath(folder, entry.name), entry)),
        ...(next === undefined ? {} : { next: relativeText(next) }),
      };
    },

    'files/walk': async ({ path: given, after, limit, maxDepth }) => {
      const folder = pathFromUser(given);
      const depth = maxDepth === undefined || maxDepth === null ? {} : { maxDepth };
      const page = await walkTree(paths, folder, { ...pageOf(after, limit), ...depth, folderLinks: 'ignore' });
      return {
        entries: page.entries.map(({ path: relative, ...entry }) => ({
          relativePath: relativeText(relative),
          ...entryOf(joinPath(folder, relative), { ...entry, name: splitPath(relative).at(-1) ?? relative }),
        })),
        errors: page.errors.map(({ path: relative, message }) => ({
          path: shownPath(joinPath(folder, relative)),
          problem: message,
        })),
        ...(page.next === undefined ? {} : { next: relativeText(page.next) }),
      };
    },

    'files/copy': async ({ from: given, to, recursive, overwrite }) => {
      const from = pathFromUser(given);
      if (recursive !== true && (await metadata(paths, from, { links: 'parents' })).kind === 'directory') {
        throw new FileError('refused', `"${shownPath(from)}" is a folder; set recursive to copy it with what it contains`);
      }
      await copy(paths, {
        from,
        to: pathFromUser(to),
        folders: recursive === true ? 'copy' : 'refuse',
        existing: overwrite === false ? 'refuse' : 'replace',
      });
      return {};
    },

    'files/move': async ({ from, to, overwrite }) =>
      move(paths, { from: pathFromUser(from), to: pathFromUser(to), existing: overwrite === false ? 'refuse' : 'replace' }),

    'files/remove': async ({ path, recursive, force }) => {
      const contents = recursive === true ? 'remove' : 'refuse';
      try {
        await remove(paths, pathFromUser(path), { contents, absent: 'refuse', links: 'follow' });
        return { removed: true };
      } catch (error) {
        if (force === true && error instanceof FileError && error.kind === 'notFound') return { removed: false };
        throw error;
      }
    },

    'files/makeDirectory': async ({ path, recursive, permissions }) => {
      const mode = permissions === undefined || permissions === null ? {} : { mode: permissions };
      await makeDirectory(paths, pathFromUser(path), {
        parents: recursive === false ? 'require' : 'make',
        links: 'follow',
        ...mode,
      });
      return {};
    },

    'files/makeTemporary': async ({ kind, prefix, parent }) => {
      const folder = parent === undefined || parent === null ? tmpdir() : pathFromUser(parent);
      const made = await makeTemporary(paths, { kind, parent: folder, ...(typeof prefix === 'string' ? { prefix } : {}) });
      return { path: shownPath(made) };
    },

    'files/digest': async ({ path, after, limit }) =>
      paths.using(pathFromUser(path), { links: 'follow', for: 'read', hold: 'always' }, async (place) => {
        const { entries, next } = await digestTree(place, pageOf(after, limit));
        return { entries: entries.map(digestOf), ...(next === undefined ? {} : { next: relativeText(next) }) };
      }),

    'files/watch': async (params) => watching.watch(params),

    'files/unwatch': async ({ watchId }) => {
      watching.unwatch(watchId);
      return {};
    },
  };
}

function flowCallsOn(shared: SharedFiles): FlowCalls {
  const { paths } = shared;
  return {
    'files/read': async ({ path: given, offset, length }, flow) => {
      const path = pathFromUser(given);
      const file = await OpenFile.open(paths, path, { mode: 'read', links: 'follow' });
      const range = rangeOf(file.stats.size, offset ?? 0, length ?? Infinity);
      void sendFile(file, flow, range);
      return {
        status: statusOf(path, metadataOf(file.stats)),
        ...(range.promised === undefined ? {} : { length: range.promised }),
      };
    },

    'files/write': async (params, flow) => writeFile(shared, params, flow),

    'files/download': async ({ path, exclude, only }, flow) => {
      const excluded = leftOut(exclude ?? [], only ?? undefined);
      return paths.using(pathFromUser(path), { links: 'follow', for: 'read', hold: 'always' }, async (place) => {
        let result: TreeResult | undefined;
        const chunks = async function* (): AsyncGenerator<Uint8Array> {
          result = treeResultOf(yield* packTree(place, { exclude: excluded }));
        };
        for await (const chunk of chunks()) await flow.write(chunk);
        flow.end();
        if (result === undefined) throw new Error('the archive has no result');
        return result;
      });
    },

    'files/upload': async ({ path }, flow) =>
      paths.using(pathFromUser(path), { links: 'follow', for: 'write', hold: 'always' }, async (place) => {
        const result = await unpackTree(place, flow, { staging: { names: shared.guard } });
        flow.end();
        return treeResultOf(result);
      }),
  };
}

function pageOf(after: string | null | undefined, limit: number | null | undefined): { after?: NativePath; limit: number } {
  return {
    ...(after === undefined || after === null ? {} : { after: relativeFrom(after) }),
    limit: Math.max(1, Math.min(limit ?? mostEntries, mostEntries)),
  };
}

/** A file without a size, such as those in /proc, is read to its end. */
function rangeOf(size: number, offset: number, most: number): Range {
  const promised = size === 0 ? undefined : Math.max(0, Math.min(most, size - offset));
  return { offset, most: promised ?? most, promised };
}

/** With `only`, everything but those paths and their parents is left out as well. */
function leftOut(patterns: readonly string[], only: readonly string[] | undefined): (path: NativePath) => boolean {
  const isExcluded = exclusionOf(patterns);
  const wanted = only === undefined ? undefined : new Set(only.flatMap(withParents));
  return (path) => isExcluded(path) || wanted?.has(relativeText(path)) === false;
}

function withParents(text: string): string[] {
  const names = splitPath(relativeFrom(text));
  return names.map((_, index) => relativeText(relativePath(names.slice(0, index + 1))));
}
