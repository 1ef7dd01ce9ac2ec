// A caller that is confined to a root gets nothing from outside and changes nothing there, whatever path it asks for and whatever links it
// finds or makes. Every operation tries every way out, by both ways in which a server finds a path.

import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { describe, test } from 'node:test';
import { FileError, type NativePath, Paths, pathFromUri } from '#src/files/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { type Contents, Scratch, treeOf } from '../support/scratch.js';
import { type Operation, operations } from './operations.js';

guardAgainstLeaks();

interface Attempt {
  /** Where the way out is: in the path itself, in a link that is not its last component, or in one that is. */
  readonly by: 'path' | 'link' | 'lastLink';
  /** Put into the root before. */
  readonly links?: (outside: string, root: string) => Contents;
  /** `fd` is open on the folder outside. */
  readonly path: (places: { readonly root: string; readonly outside: string; readonly fd: number }) => NativePath;
}

/** One link in the root, by which the path leads to the secret outside. */
function through(target: (outside: string, root: string) => string): Attempt {
  return {
    by: 'link',
    links: (outside, root) => ({ way: { link: target(outside, root) } }),
    path: ({ root }) => `${root}/way/secret.txt`,
  };
}

/** The path ends in a link to the secret outside. */
function endingIn(target: (outside: string, root: string) => string): Attempt {
  return {
    by: 'lastLink',
    links: (outside, root) => ({ way: { link: target(outside, root) } }),
    path: ({ root }) => `${root}/way`,
  };
}

const attempts: Readonly<Record<string, Attempt>> = {
  'the absolute path': { by: 'path', path: ({ outside }) => `${outside}/secret.txt` },
  'the folder above': { by: 'path', path: ({ root }) => `${root}/..` },
  'the root of the file system': { by: 'path', path: () => '/' },
  '".."': { by: 'path', path: ({ root }) => `${root}/../outside/secret.txt` },
  '".." after folders': { by: 'path', path: ({ root }) => `${root}/tree/deep/../../../outside/secret.txt` },
  '".." after a folder that does not exist': { by: 'path', path: ({ root }) => `${root}/none/../../outside/secret.txt` },
  'more ".." than there are folders': {
    by: 'path',
    path: ({ root, outside }) => `${root}/${'../'.repeat(40)}${outside}/secret.txt`,
  },
  '".." in a URI': { by: 'path', path: ({ root }) => pathFromUri(`file://${root}/../outside/secret.txt`) },
  'an encoded ".." in a URI': { by: 'path', path: ({ root }) => pathFromUri(`file://${root}/%2e%2e/outside/secret.txt`) },
  'a half-encoded ".." in a URI': { by: 'path', path: ({ root }) => pathFromUri(`file://${root}/.%2E/outside/secret.txt`) },
  'encoded slashes in a URI': {
    by: 'path',
    path: ({ root }) => pathFromUri(`file://${root}/tree%2f..%2f..%2foutside%2fsecret.txt`),
  },
  'an opaque URI': {
    by: 'path',
    path: ({ root }) =>
      pathFromUri(`file:///%00/bad/path/${Buffer.from(`/C:/..${root}/../outside/secret.txt`).toString('base64url')}`),
  },
  'doubled and trailing slashes': { by: 'path', path: ({ root }) => `/${root}//..//outside//secret.txt/` },
  'a folder whose name starts like the root': { by: 'path', path: ({ root }) => `${root}-evil/secret.txt` },
  'the root with another case': { by: 'path', path: ({ root }) => `${root.toUpperCase()}/../outside/secret.txt` },
  '/proc/self/root': { by: 'path', path: ({ outside }) => `/proc/self/root${outside}/secret.txt` },
  '/proc/self/cwd': { by: 'path', path: ({ outside }) => `/proc/self/cwd/${'../'.repeat(40)}${outside}/secret.txt` },
  '/proc/self/fd': { by: 'path', path: ({ fd }) => `/proc/self/fd/${fd}/secret.txt` },
  '/dev/fd': { by: 'path', path: ({ fd }) => `/dev/fd/${fd}/secret.txt` },

  'an absolute link to a folder': through((outside) => outside),
  'a relative link to a folder': through(() => '../outside'),
  'a link to the folder above': { ...through(() => '..'), path: ({ root }) => `${root}/way/outside/secret.txt` },
  'a link to the root of the file system': {
    ...through(() => '/'),
    path: ({ root, outside }) => `${root}/way${outside}/secret.txt`,
  },
  'a link that goes down before it goes up': through(() => 'tree/deep/../../../outside'),
  'a link that starts in the root': through((_, root) => `${root}/tree/../../outside`),
  'a link with doubled slashes': through((outside) => `//${outside}//.//`),
  'a link with more ".." than there are folders': through((outside) => `${'../'.repeat(40)}${outside}`),
  'a link through /proc/self/root': through((outside) => `/proc/self/root${outside}`),
  'a link through /proc/self/cwd': through((outside) => `/proc/self/cwd/${'../'.repeat(40)}${outside}`),
  'a chain of links': {
    by: 'link',
    links: (outside) => ({
      way: { link: 'tree/second' },
      'tree/second': { link: 'deep/third' },
      'tree/deep/third': { link: outside },
    }),
    path: ({ root }) => `${root}/way/secret.txt`,
  },
  'a link reached through another one': {
    by: 'link',
    links: () => ({ way: { link: 'tree' }, 'tree/up': { link: '../..' } }),
    path: ({ root }) => `${root}/way/up/outside/secret.txt`,
  },
  'a link whose name is not UTF-8': {
    by: 'link',
    links: (outside) => ({ tree: {}, way: { link: outside } }),
    path: ({ root }) => Buffer.concat([Buffer.from(`${root}/tree/../way/`), Buffer.of(0xff, 0xfe)]),
  },

  'a last link, absolute': endingIn((outside) => `${outside}/secret.txt`),
  'a last link, relative': endingIn(() => '../outside/secret.txt'),
  'a last link to a folder': endingIn((outside) => outside),
  'a last link to a folder, with a trailing slash': { ...endingIn((outside) => outside), path: ({ root }) => `${root}/way/` },
  'a last link to nothing': endingIn((outside) => `${outside}/new.txt`),
  'a last link to nothing, relative': endingIn(() => '../outside/new.txt'),
  'a last link through /proc/self/root': endingIn((outside) => `/proc/self/root${outside}/secret.txt`),
  'a last link to the folder above': endingIn(() => '..'),
  'a last link to a device': endingIn(() => '/dev/null'),
  'a chain of last links': {
    ...endingIn(() => 'tree/second'),
    links: () => ({ way: { link: 'tree/second' }, 'tree/second': { link: '../../outside/secret.txt' } }),
  },
};

/** What `inside` of the operations needs, and what they must not reach. */
const contents: Contents = {
  'root/mine.txt': 'mine',
  'root/tree/deep/leaf.txt': 'leaf',
  'outside/secret.txt': 'secret',
  'outside/sub/other.txt': 'secret',
  'root-evil/secret.txt': 'secret',
};

/** How a rejection must look; undefined where the operation acts on the link itself. */
function expectedKind(attempt: Attempt, operation: Operation): 'notFound' | 'refused' | 'failed' | undefined {
  if (attempt.by === 'path') return 'notFound';
  if (attempt.by === 'link' || operation.onLink === 'refused') return 'refused';
  return operation.onLink === 'acts' ? undefined : 'failed';
}

for (const openat2 of ['use', 'avoid'] as const) {
  describe(openat2 === 'use' ? 'with openat2' : 'by descent', () => {
    for (const [how, attempt] of Object.entries(attempts)) {
      if (attempt.by === 'path' && openat2 === 'avoid') continue; // it is refused by its text, before anything is opened
      describe(`by ${how}, it is impossible`, () => {
        for (const [what, operation] of Object.entries(operations)) {
          test(`to ${what}`, async () => {
            using scratch = new Scratch(contents);
            const [root, outside] = [scratch.at('root'), scratch.at('outside')];
            for (const [name, link] of Object.entries(attempt.links?.(outside, root) ?? {}))
              scratch.add({ [`root/${name}`]: link });
            const before = [...treeOf(outside), ...treeOf(`${root}-evil`)];
            const fd = openSync(outside, 'r');
            const paths = Paths.open({ roots: [root], openat2 });
            try {
              const outcome = await operation
                .run(paths, attempt.path({ root, outside, fd }), root)
                .catch((error: unknown) => error);
              const kind = outcome instanceof FileError ? outcome.kind : undefined;
              const expected = expectedKind(attempt, operation);
              assert.equal(kind, expected, String(outcome));
              if (kind === undefined) assert.ok(!(outcome instanceof Error), String(outcome));
              else assert.doesNotMatch(String(outcome), /\/proc\/self\/fd\/\d+\/(?!secret)/);
              assert.doesNotMatch(JSON.stringify(outcome) ?? '', /"secret"/);
              assert.deepEqual([...treeOf(outside), ...treeOf(`${root}-evil`)], before);
            } finally {
              paths.close();
              closeSync(fd);
            }
          });
        }
      });
    }
  });
}
