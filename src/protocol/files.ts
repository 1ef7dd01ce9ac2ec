// The part of the method table behind `client.files`. Content is sent through flows; see flows.ts. A path is absolute, or a `file:` URI,
// which can also name files whose names are not UTF-8; replies use a URI only for those.

import * as v from 'valibot';
import { flowId } from './flows.js';
import { limit } from './ids.js';
import { optionalMembers } from './map.js';

const empty = optionalMembers({});
const path = v.pipe(v.string(), v.description('Absolute path, or file: URI'));
const kind = v.picklist(['file', 'directory', 'symlink', 'other']);
const flag = v.nullish(v.boolean());
const time = v.pipe(v.number(), v.description('Milliseconds since 1970'));
const permissions = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0o7777));
const sha256 = v.pipe(v.string(), v.description('In hexadecimal'));
const problems = v.array(v.object({ path: v.string(), problem: v.string() }));
const relativePath = v.pipe(v.string(), v.description('If it is not UTF-8: NUL, and its bytes in base64url'));
const after = v.pipe(v.nullish(v.string()), v.description('`next` of the previous page: continue there'));
const next = v.pipe(v.optional(v.string()), v.description('`after` for the next page; absent at the end'));
const pageLimit = v.pipe(v.nullish(limit), v.description('Entries per page, at most and by default 4 096'));

export const fileStatus = v.object({
  path,
  kind,
  size: v.number(),
  modifiedAtMs: time,
  createdAtMs: v.pipe(v.optional(time), v.description('Absent where the file system does not record it')),
  permissions,
  uid: v.number(),
  gid: v.number(),
  inode: v.pipe(v.string(), v.description('Device and inode; changes when the file is replaced')),
  target: v.pipe(v.optional(v.string()), v.description('What a symbolic link contains')),
});
export type FileStatus = v.InferOutput<typeof fileStatus>;

export const fileEntry = v.object({
  name: v.pipe(v.string(), v.description('If it is not UTF-8, with replacement characters; `path` is exact')),
  path,
  kind,
  size: v.number(),
  modifiedAtMs: time,
  permissions,
  target: v.pipe(v.optional(v.string()), v.description('What a symbolic link contains')),
});
export type FileEntry = v.InferOutput<typeof fileEntry>;

/** What a file must still be for a write to happen. */
const expected = v.pipe(
  v.nullish(v.union([v.literal('absent'), v.object({ size: v.number(), modifiedAtMs: time, inode: v.string() })])),
  v.description('Write only if the file does not exist, or is still as described by an earlier status'),
);

const treeResult = v.object({
  files: v.number(),
  folders: v.number(),
  links: v.number(),
  bytes: v.pipe(v.number(), v.description('Content of the files')),
  sha256: v.pipe(sha256, v.description('Of the whole archive')),
  skipped: v.pipe(problems, v.description('At most 100; `skippedCount` counts all')),
  skippedCount: v.number(),
});
export type TreeResult = v.InferOutput<typeof treeResult>;

export const fileChange = v.object({
  kind: v.picklist(['created', 'changed', 'removed', 'moved']),
  path,
  from: v.pipe(v.optional(path), v.description('Of a moved file')),
});
export type FileChange = v.InferOutput<typeof fileChange>;

const watchId = v.pipe(limit, v.description('Chosen by the client; the watch ends with the connection'));

export const fileRequests = {
  'files/stat': {
    family: 'file',
    summary: 'Describes a file.',
    params: v.object({ path, followSymlinks: v.pipe(flag, v.description('false: describe a link itself; true when absent')) }),
    result: fileStatus,
  },
  'files/list': {
    family: 'file',
    summary: 'Lists a folder, sorted by name, one page at a time. Links are not followed.',
    params: v.object({ path, after, limit: pageLimit }),
    result: v.object({ entries: v.array(fileEntry), next }),
  },
  'files/walk': {
    family: 'file',
    summary: 'Lists everything below a folder, depth first and sorted by name, one page at a time.',
    params: v.object({
      path,
      after,
      limit: pageLimit,
      maxDepth: v.pipe(v.nullish(limit), v.description('0: only the children of the folder')),
    }),
    result: v.object({
      entries: v.array(v.object({ relativePath, ...fileEntry.entries })),
      errors: v.pipe(problems, v.description('Folders of this page that could not be read')),
      next,
    }),
  },
  'files/read': {
    family: 'file',
    summary:
      'Sends a file, or a part of it, through a flow. A file that shrinks meanwhile resets the flow: it is never silently short.',
    params: v.object({
      flowId,
      path,
      offset: v.nullish(limit),
      length: v.pipe(v.nullish(limit), v.description('To the end when absent')),
    }),
    result: v.object({
      status: fileStatus,
      length: v.pipe(v.optional(v.number()), v.description('Bytes that follow; absent if only reading tells, as in /proc')),
    }),
  },
  'files/write': {
    family: 'file',
    summary: 'Writes what arrives through a flow. Replies when the flow has ended and the file is in place.',
    params: v.object({
      flowId,
      path,
      mode: v.pipe(
        v.nullish(v.picklist(['replace', 'inPlace', 'append', 'create'])),
        v.description(
          'replace, the default: readers see the old file or the new one, never a part. inPlace: overwrite the file itself. create: fail if it exists',
        ),
      ),
      permissions: v.pipe(v.nullish(permissions), v.description('When absent: those of the old file, or 0666 without the umask')),
      createParents: flag,
      expected,
    }),
    result: v.object({
      status: fileStatus,
      bytes: v.number(),
      how: v.pipe(
        v.picklist(['renamed', 'inPlace', 'appended', 'created']),
        v.description('inPlace, although replace was asked for: the folder or the file system allows no rename'),
      ),
      sha256,
    }),
  },
  'files/copy': {
    family: 'file',
    summary: 'Copies a file, a link or, if recursive, a folder.',
    params: v.object({
      from: path,
      to: path,
      recursive: flag,
      overwrite: v.pipe(flag, v.description('false: fail if the destination exists; true when absent')),
    }),
    result: empty,
  },
  'files/move': {
    family: 'file',
    summary: 'Moves a file, a link or a folder.',
    params: v.object({
      from: path,
      to: path,
      overwrite: v.pipe(flag, v.description('false: fail if the destination exists; true when absent')),
    }),
    result: v.object({
      how: v.pipe(v.picklist(['renamed', 'copied']), v.description('copied: to another file system, so not in one step')),
    }),
  },
  'files/remove': {
    family: 'file',
    summary: 'Removes a file, a link or a folder.',
    params: v.object({
      path,
      recursive: v.pipe(flag, v.description('Remove what a folder contains; false when absent')),
      force: v.pipe(flag, v.description('Succeed if there is nothing; false when absent')),
    }),
    result: v.object({ removed: v.pipe(v.boolean(), v.description('false: there was nothing')) }),
  },
  'files/makeDirectory': {
    family: 'file',
    summary: 'Creates a folder.',
    params: v.object({
      path,
      recursive: v.pipe(flag, v.description('Create parents, and accept an existing folder; true when absent')),
      permissions: v.nullish(permissions),
    }),
    result: empty,
  },
  'files/makeTemporary': {
    family: 'file',
    summary: 'Creates an empty file or folder with a new name that only its owner may open. The caller removes it.',
    params: v.object({
      kind: v.picklist(['file', 'directory']),
      prefix: v.nullish(v.pipe(v.string(), v.maxLength(64))),
      parent: v.pipe(v.nullish(path), v.description('The machine’s folder for temporary files when absent')),
    }),
    result: v.object({ path }),
  },
  'files/download': {
    family: 'file',
    summary: 'Sends a folder or a file as a tar archive through a flow. Replies when everything is sent.',
    params: v.object({
      flowId,
      path,
      exclude: v.pipe(v.nullish(v.array(v.string())), v.description('Names or relative paths to leave out; * and ? match')),
      only: v.pipe(v.nullish(v.array(v.string())), v.description('Relative paths to send; everything when absent')),
    }),
    result: treeResult,
  },
  'files/upload': {
    family: 'file',
    summary: 'Unpacks the tar archive that arrives through a flow. Replies when all of it is in place.',
    params: v.object({ flowId, path }),
    result: treeResult,
  },
  'files/digest': {
    family: 'file',
    summary:
      'Lists everything below a folder with the SHA-256 of each file, one page at a time: what an interrupted transfer has left.',
    params: v.object({ path, after, limit: pageLimit }),
    result: v.object({
      entries: v.array(
        v.object({
          relativePath,
          kind,
          size: v.number(),
          modifiedAtMs: time,
          permissions,
          sha256: v.optional(sha256),
          target: v.optional(v.string()),
        }),
      ),
      next,
    }),
  },
  'files/watch': {
    family: 'file',
    summary: 'Sends `files/changed` for what happens to a file or in a folder.',
    params: v.object({ watchId, path, recursive: v.pipe(flag, v.description('Folders below it too; false when absent')) }),
    result: empty,
  },
  'files/unwatch': {
    family: 'file',
    summary: 'Ends a watch; an unknown one is not an error.',
    params: v.object({ watchId }),
    result: empty,
  },
} as const;
