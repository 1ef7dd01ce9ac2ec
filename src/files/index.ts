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
export { Paths, type PathsOptions } from './paths.js';
export type { Place } from './place.js';
export { type WholeFile, readFile } from './read-file.js';
export { remove } from './remove.js';
export { type WalkOptions, walk } from './walk.js';
export { walkTree } from './walk-tree.js';
export { writeInPlace } from './write-file.js';
export type { ExpectedFile, FileWriter } from './file-writer.js';
export { appendFile, overwriteFile } from './overwrite.js';
export { replaceFile } from './replace.js';
export { ReplaceGuard } from './replace-guard.js';
export { type DigestEntry, digestTree } from './tree/digest.js';
export { packTree } from './tree/pack.js';
export type { TreeProgress, TreeResult } from './tree/tree-result.js';
export { unpackTree } from './tree/unpack.js';
export type { FileWatch } from './watch/file-watch.js';
export { FileWatches } from './watch/file-watches.js';
