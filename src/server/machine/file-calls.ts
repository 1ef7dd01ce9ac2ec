// The calls behind `client.files`: reads parameters, calls the files layer, and describes what it returns. Content goes through flows.

import { tmpdir } from 'node:os';
import {
  OpenFile,
  copy,
  joinPath,
  listFolder,
  makeDirectory,
  makeTemporary,
  metadata,
  metadataOf,
  move,
  pathFromUser,
  remove,
  shownPath,
  walkTree,
} from '../../files/index.js';
import type { Params, Result } from '../../protocol/index.js';
import type { Flow } from '../../rpc/flow.js';
import type { CallContext, CallGroup, FlowHandlersOf, HandlersOf, MethodsOf } from './call-group.js';
import { entryOf, relativeFrom, relativeText, statusOf } from './file-description.js';
import { withFileFailures } from './file-failure.js';
import type { SharedFiles } from './machine.js';
import { sendFile } from './send-file.js';

type Calls = HandlersOf<MethodsOf<'files'>>;
type FlowCalls = FlowHandlersOf<'files/read' | 'files/write' | 'files/download' | 'files/upload'>;

/** Entries per page: about 1 MiB of reply. */
const mostEntries = 4_096;

export async function createFileCalls(context: CallContext): Promise<CallGroup<MethodsOf<'files'>>> {
  const shared = await context.machine.shared();
  return {
    calls: withFileFailures(callsOn(shared)),
    flowCalls: withFileFailures(flowCallsOn(shared)),
    end: () => {},
  };
}

function callsOn({ paths }: SharedFiles): Calls {
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
          ...entryOf(joinPath(folder, relative), { ...entry, name: nameOf(relative) }),
        })),
        errors: page.errors.map(({ path: relative, message }) => ({ path: shownPath(joinPath(folder, relative)), problem: message })),
        ...(page.next === undefined ? {} : { next: relativeText(page.next) }),
      };
    },

    'files/copy': async ({ from, to, recursive, overwrite }) => {
      await copy(paths, {
        from: pathFromUser(from),
        to: pathFromUser(to),
        folders: recursive === true ? 'copy' : 'refuse',
        existing: overwrite === false ? 'refuse' : 'replace',
      });
      return {};
    },

    'files/move': async ({ from, to, overwrite }) =>
      move(paths, { from: pathFromUser(from), to: pathFromUser(to), existing: overwrite === false ? 'refuse' : 'replace' }),

    'files/remove': async ({ path, recursive, force }) => removeAt(paths, { path, recursive, force }),

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
  };
}
