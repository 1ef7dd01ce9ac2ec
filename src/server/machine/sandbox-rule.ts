// Judges the rights that Codex's client wants a file operation to have. This server does not confine file operations, so it carries out
// only what needs no confinement and refuses everything else.

import { FileError, pathFromUri } from '../../files/index.js';
import { type SandboxContext, execError } from '../../protocol/index.js';
import { fileFailureOf } from './file-failure.js';

type Restriction = Extract<
  Extract<SandboxContext['permissions'], { type: 'managed' }>['file_system'],
  { type: 'restricted' }
>['entries'];

/** Throws unless the operation may act with all rights of this server. */
export function requireUnconfined(sandbox: SandboxContext | null | undefined, access: 'read' | 'write'): void {
  if (sandbox === undefined || sandbox === null) return;
  readLocations(sandbox);
  const entries = restrictionOf(sandbox);
  if (entries === undefined) return;
  readEntries(entries, sandbox);
  // Names such as .git stay protected even where everything else may be written, so no restricted write is free.
  if (access === 'read' && canReadAll(entries)) return;
  const problem = `this server cannot confine file operations to a sandbox yet, and these permissions restrict ${access === 'read' ? 'reading' : 'writing'}`;
  throw execError('fileRefused', { problem });
}

function restrictionOf({ permissions }: SandboxContext): Restriction | undefined {
  if (permissions.type !== 'managed' || permissions.file_system.type === 'unrestricted') return undefined;
  return permissions.file_system.entries;
}

/** Throws for a member that is no file: URI, even if nothing depends on it. */
function readLocations({ cwd, workspaceRoots, userHomeDir, temporaryDirectories, policyContext }: SandboxContext): void {
  const single = [cwd, userHomeDir, policyContext?.cwd];
  const lists = [workspaceRoots, temporaryDirectories, policyContext?.workspaceRoots];
  for (const uri of [...single, ...lists.flatMap((list) => list ?? [])]) {
    if (uri !== undefined && uri !== null) platformOf(uri);
  }
}

function readEntries(entries: Restriction, { cwd, policyContext }: SandboxContext): void {
  for (const { path } of entries) {
    if (path.type === 'path' && platformOf(path.path) === 'other') {
      throw execError('fileRefused', {
        problem: `invalid sandbox permission path URI: '${path.path}' is invalid on '${process.platform}'`,
      });
    }
  }
  const hasFolder = typeof (policyContext?.cwd ?? cwd) === 'string';
  if (!hasFolder && entries.some(({ path }) => dependsOnFolder(path))) {
    throw execError('invalidParams', { problem: 'file system sandbox context with dynamic permissions requires cwd' });
  }
}

/** Whose path it is. Throws if it is no file: URI. */
function platformOf(uri: string): 'own' | 'other' {
  try {
    pathFromUri(uri);
    return 'own';
  } catch (error) {
    if (error instanceof FileError && error.kind === 'refused') return 'other';
    throw fileFailureOf(error);
  }
}

function dependsOnFolder(path: Restriction[number]['path']): boolean {
  switch (path.type) {
    case 'path':
      return false;
    case 'glob_pattern':
      return !path.pattern.startsWith('/');
    case 'special':
      return path.value.kind === 'project_roots' || path.value.kind === 'current_working_directory';
  }
}

function canReadAll(entries: Restriction): boolean {
  return (
    entries.some((entry) => isRoot(entry) && (entry.access === 'read' || entry.access === 'write')) &&
    entries.every(({ access }) => access === 'read' || access === 'write')
  );
}

function isRoot({ path }: Restriction[number]): boolean {
  return path.type === 'special' && path.value.kind === 'root';
}
