// Every operation on one path, as a table, for tests that must not miss one.

import {
  type NativePath,
  ByteBudget,
  OpenFile,
  type Paths,
  canonicalise,
  copy,
  listFolder,
  makeDirectory,
  makeTemporary,
  metadata,
  move,
  readDirectory,
  readFile,
  remove,
  walk,
  walkTree,
  writeInPlace,
} from '#src/files/index.js';

export interface Operation {
  /**
   * What it does with a path that ends in a link out of the roots:
   * - `refused`: it follows the link
   * - `acts`: it acts on the link itself
   * - `failed`: the name is taken
   */
  readonly onLink: 'refused' | 'acts' | 'failed';
  readonly kind: 'read' | 'write';
  /** `inside` is a folder where it may read and write. */
  readonly run: (paths: Paths, path: NativePath, inside: string) => Promise<unknown>;
}

export const budget = new ByteBudget(64 * 1024 * 1024);

export async function textOf(paths: Paths, path: NativePath, links: 'follow' | 'refuse' = 'follow'): Promise<string> {
  const whole = await readFile(paths, path, { links, budget });
  whole.release();
  return Buffer.from(whole.bytes).toString();
}

const limits = { maxDepth: 8, maxDirectories: 100, maxEntries: 100, hiddenDirectories: 'enter' } as const;

export const operations: Readonly<Record<string, Operation>> = {
  'read a file': { onLink: 'refused', kind: 'read', run: async (paths, path) => textOf(paths, path) },
  'open for reading': {
    onLink: 'refused',
    kind: 'read',
    run: async (paths, path) => {
      const file = await OpenFile.open(paths, path, { mode: 'read', links: 'follow' });
      const bytes = await file.readAt(0, 100).finally(() => file.close());
      return Buffer.from(bytes).toString();
    },
  },
  'read the metadata': {
    onLink: 'refused',
    kind: 'read',
    run: async (paths, path) => metadata(paths, path, { links: 'follow' }),
  },
  'read the metadata of the name itself': {
    onLink: 'acts',
    kind: 'read',
    run: async (paths, path) => metadata(paths, path, { links: 'parents' }),
  },
  'find the real path': { onLink: 'refused', kind: 'read', run: canonicalise },
  'list as Codex does': { onLink: 'refused', kind: 'read', run: readDirectory },
  'list a page': { onLink: 'refused', kind: 'read', run: async (paths, path) => listFolder(paths, path, { limit: 10 }) },
  'walk as Codex does': {
    onLink: 'refused',
    kind: 'read',
    run: async (paths, path) => walk(paths, path, { ...limits, directoryLinks: 'follow' }),
  },
  'walk page by page': {
    onLink: 'refused',
    kind: 'read',
    run: async (paths, path) => walkTree(paths, path, { limit: 10, folderLinks: 'follow' }),
  },
  'copy from': {
    onLink: 'acts',
    kind: 'read',
    run: async (paths, path, inside) =>
      copy(paths, { from: path, to: `${inside}/copied`, folders: 'copy', existing: 'overwriteFiles' }),
  },
  'write a file': {
    onLink: 'refused',
    kind: 'write',
    run: async (paths, path) => writeInPlace(paths, path, { bytes: Buffer.from('written'), links: 'follow' }),
  },
  'open for replacing': {
    onLink: 'refused',
    kind: 'write',
    run: async (paths, path) => (await OpenFile.open(paths, path, { mode: 'replace', links: 'follow' })).close(),
  },
  'copy a file to': {
    onLink: 'refused',
    kind: 'write',
    run: async (paths, path, inside) =>
      copy(paths, { from: `${inside}/mine.txt`, to: path, folders: 'copy', existing: 'overwriteFiles' }),
  },
  'copy a folder to': {
    onLink: 'refused',
    kind: 'write',
    run: async (paths, path, inside) => copy(paths, { from: `${inside}/tree`, to: path, folders: 'copy', existing: 'replace' }),
  },
  'move from': {
    onLink: 'acts',
    kind: 'write',
    run: async (paths, path, inside) => move(paths, { from: path, to: `${inside}/moved`, existing: 'replace' }),
  },
  'move to': {
    onLink: 'acts',
    kind: 'write',
    run: async (paths, path, inside) => move(paths, { from: `${inside}/mine.txt`, to: path, existing: 'replace' }),
  },
  remove: {
    onLink: 'acts',
    kind: 'write',
    run: async (paths, path) => remove(paths, path, { contents: 'remove', absent: 'refuse', links: 'follow' }),
  },
  'make a folder': {
    onLink: 'failed',
    kind: 'write',
    run: async (paths, path) => makeDirectory(paths, path, { parents: 'require', links: 'follow' }),
  },
  'make a folder and its parents': {
    onLink: 'failed',
    kind: 'write',
    run: async (paths, path) => makeDirectory(paths, path, { parents: 'make', links: 'follow' }),
  },
  'make a temporary file in': {
    onLink: 'refused',
    kind: 'write',
    run: async (paths, path) => makeTemporary(paths, { kind: 'file', parent: path }),
  },
};
