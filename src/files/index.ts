// What servers and clients use of the file code.

export { ByteBudget } from './byte-budget.js';
export { copy } from './copy.js';
export { FileError, type FileErrorKind } from './file-error.js';
export { type ListedEntry, listFolder, readDirectory, readDirectoryWithinLimit } from './list-folder.js';
export { makeDirectory, makeTemporary } from './make.js';
export { type Metadata, canonicalise, metadata, metadataOf } from './metadata.js';
export { move } from './move.js';
export { type NativePath, joinPath, namesBelow, namesOf, nativePath, parentOf, relativePath, splitPath } from './native-path.js';
export { OpenFile } from './open-file.js';
export { pathFromUri, pathFromUser, shownPath, uriOfPath } from './path-uri.js';
export { type Access, Paths, type PathsOptions } from './paths.js';
export type { Place } from './place.js';
export { type WholeFile, readFile } from './read-file.js';
export { remove } from './remove.js';
export { type WalkOptions, walk } from './walk.js';
export { walkTree } from './walk-tree.js';
export { writeInPlace } from './write-file.js';
export type { ExpectedFile, FileWriter, WriteOptions, WrittenFile } from './file-writer.js';
export { appendFile, overwriteFile } from './overwrite.js';
export { type ReplaceOptions, replaceFile } from './replace.js';
export { ReplaceGuard } from './replace-guard.js';
export { type DigestEntry, type DigestOptions, type DigestPage, digestTree } from './tree/digest.js';
export { type PackOptions, packTree } from './tree/pack.js';
export type { TreeProgress, TreeResult } from './tree/tree-result.js';
export { type UnpackOptions, unpackTree } from './tree/unpack.js';
export type { FileWatch, WatchBatch } from './watch/file-watch.js';
export { FileWatches } from './watch/file-watches.js';
