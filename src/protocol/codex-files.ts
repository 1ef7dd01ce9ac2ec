// The part of the method table that Codex's client uses for files: whole files, folders, and blocks through handles. Paths are `file:`
// URIs. Bytes are checked by the handlers, because Codex refuses malformed ones with another code than malformed parameters.

import * as v from 'valibot';
import { bytes } from './bytes.js';
import { limit } from './ids.js';
import { optionalMembers } from './map.js';
import { sandboxContext } from './sandbox-context.js';

const empty = optionalMembers({});
const uri = v.pipe(v.string(), v.description('file: URI'));
const sandbox = v.pipe(
  v.nullish(sandboxContext),
  v.description('Rights to act with. A restriction that cannot be enforced is refused'),
);
const followSymlinks = v.pipe(
  v.nullish(v.boolean()),
  v.description('false: fail if any part of the path is a symbolic link. true when absent'),
);
const atPath = { path: uri, sandbox };
const atUnlinkedPath = { ...atPath, followSymlinks };
const base64Text = v.pipe(v.string(), v.description('Base64 with padding'));
const handleId = v.pipe(v.string(), v.description('Chosen by the client, at most 32 bytes; the handle ends with the connection'));
const flag = v.nullish(v.boolean());

const walkOptions = v.object({
  maxDepth: v.pipe(limit, v.description('0 lists the children of the folder; at most 64')),
  maxDirectories: limit,
  maxEntries: limit,
  followDirectorySymlinks: v.boolean(),
  pruneHiddenDirectories: v.pipe(flag, v.description('List folders whose name begins with a dot, but do not enter them')),
});

export const codexFileRequests = {
  'fs/readFile': {
    family: 'file',
    summary: 'Returns a whole regular file of at most 512 MiB.',
    params: v.object(atUnlinkedPath),
    result: v.object({ dataBase64: bytes }),
  },
  'fs/writeFile': {
    family: 'file',
    summary: 'Creates a file, or overwrites it in place. A missing folder is reported as not found.',
    params: v.object({ ...atUnlinkedPath, dataBase64: base64Text }),
    result: empty,
  },
  'fs/createDirectory': {
    family: 'file',
    summary: 'Creates a folder.',
    params: v.object({
      ...atUnlinkedPath,
      recursive: v.pipe(flag, v.description('Create parents, and accept an existing folder; true when absent')),
    }),
    result: empty,
  },
  'fs/getMetadata': {
    family: 'file',
    summary: 'Describes what a path leads to; `isSymlink` is about the path itself.',
    params: v.object(atUnlinkedPath),
    result: v.object({
      isDirectory: v.boolean(),
      isFile: v.boolean(),
      isSymlink: v.boolean(),
      size: v.number(),
      createdAtMs: v.number(),
      modifiedAtMs: v.number(),
    }),
  },
  'fs/canonicalize': {
    family: 'file',
    summary: 'Returns the path with every symbolic link resolved.',
    params: v.object(atPath),
    result: v.object({ path: uri }),
  },
  'fs/readDirectory': {
    family: 'file',
    summary: 'Lists a folder of at most 50 000 entries, in no particular order. Links count as what they lead to.',
    params: v.object(atPath),
    result: v.object({
      entries: v.array(v.object({ fileName: v.string(), isDirectory: v.boolean(), isFile: v.boolean() })),
    }),
  },
  'fs/walk': {
    family: 'file',
    summary: 'Lists the files and folders below a folder, breadth first, within limits.',
    params: v.object({ ...atPath, options: walkOptions }),
    result: v.object({
      entries: v.array(v.object({ path: uri, kind: v.picklist(['file', 'directory']) })),
      errors: v.array(v.object({ path: uri, message: v.string() })),
      truncated: v.boolean(),
    }),
  },
  'fs/remove': {
    family: 'file',
    summary: 'Removes a file, a folder or a link.',
    params: v.object({
      ...atUnlinkedPath,
      recursive: v.pipe(flag, v.description('Remove what a folder contains; true when absent')),
      force: v.pipe(flag, v.description('Succeed if there is nothing; true when absent')),
    }),
    result: empty,
  },
  'fs/copy': {
    family: 'file',
    summary: 'Copies a file, a link or, if recursive, a folder. Overwrites a file.',
    params: v.object({ sourcePath: uri, destinationPath: uri, recursive: v.boolean(), sandbox }),
    result: empty,
  },
  'fs/open': {
    family: 'file',
    summary: 'Opens a regular file. A connection may have 128 handles.',
    params: v.object({
      ...atPath,
      handleId,
      mode: v.pipe(
        v.nullish(v.picklist(['read', 'replace'])),
        v.description('replace: create or truncate the file, to write to it; read when absent'),
      ),
    }),
    result: v.object({ handleId }),
  },
  'fs/readBlock': {
    family: 'file',
    summary: 'Returns a block of an open file; only the end of the file makes it shorter than asked.',
    params: v.object({ handleId, offset: limit, len: v.pipe(limit, v.description('From 1 to 1 048 576')) }),
    result: v.object({ chunk: bytes, eof: v.boolean() }),
  },
  'fs/writeBlock': {
    family: 'file',
    summary: 'Writes a block of at most 1 MiB to an open file. Replies when all of it is written.',
    params: v.object({ handleId, offset: limit, chunk: bytes }),
    result: empty,
  },
  'fs/close': {
    family: 'file',
    summary: 'Closes a handle; an unknown one is not an error.',
    params: v.object({ handleId }),
    result: empty,
  },
  'fs/watchMissing': {
    family: 'file',
    summary: 'Sends `fs/missingChanged` once, as soon as one of the missing paths exists or the present one is gone.',
    params: v.object({ watchId: limit, missing: v.array(uri), present: v.nullish(uri) }),
    result: v.object({
      watching: v.pipe(v.boolean(), v.description('false: the id is in use, or a path is not as described')),
    }),
  },
} as const;
