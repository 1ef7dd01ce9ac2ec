// Explains why a command could not run. Reads the file system only to find the program, or after a spawn has failed.

import { accessSync, constants, lstatSync, openSync, readSync, closeSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { type ExecError, type SpawnFailure, execError } from '../../protocol/index.js';

/** Search path when the child's environment has no PATH; the same as libc's. */
const defaultPath = '/bin:/usr/bin';

export function spawnFailed(failure: SpawnFailure, problem: string, cause?: unknown): ExecError<'spawnFailed'> {
  return execError('spawnFailed', { failure, problem }, cause === undefined ? undefined : { cause });
}

/** The file that `program` resolves to for a child with this PATH and working folder. Throws `spawnFailed` when none can be run. */
export function findProgram(program: string, cwd: string, path: string | undefined): string {
  if (program === '') throw spawnFailed('programNotFound', 'argv[0] is empty; it must name a program');
  if (program.includes('/')) {
    const file = isAbsolute(program) ? program : resolve(cwd, program);
    const failure = whyNotExecutable(file);
    if (failure !== undefined) throw spawnFailed(failure, describe(failure, file));
    return file;
  }
  let nearest: { failure: FileFailure; file: string } | undefined;
  for (const folder of (path ?? defaultPath).split(':')) {
    const file = join(folder === '' ? cwd : resolve(cwd, folder), program);
    const failure = whyNotExecutable(file);
    if (failure === undefined) return file;
    // A folder that may not be entered counts as empty, as in a shell.
    if (failure !== 'programNotFound' && exists(file)) nearest ??= { failure, file };
  }
  if (nearest !== undefined) throw spawnFailed(nearest.failure, describe(nearest.failure, nearest.file));
  const where = path === undefined ? `the default path "${defaultPath}" (env has no PATH)` : `PATH "${path}"`;
  throw spawnFailed('programNotFound', `program "${program}" not found in ${where}`);
}

function exists(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** The kernel refused to run `file` in `cwd` with this errno name: finds out which of the two caused it, and why. */
export function spawnFailureFrom(errno: string, file: string, cwd: string): ExecError<'spawnFailed'> {
  const folder = statSync(cwd, { throwIfNoEntry: false });
  if (folder === undefined) return spawnFailed('cwdNotFound', `cwd "${cwd}" does not exist`);
  if (!folder.isDirectory()) return spawnFailed('cwdNotDirectory', `cwd "${cwd}" is not a folder`);
  switch (errno) {
    case 'ENOENT':
      return spawnFailed('programNotFound', `${missingPart(file)} does not exist`);
    case 'ENOEXEC':
      return spawnFailed('notExecutable', `"${file}" is not in a format this machine can execute`);
    case 'EACCES':
    case 'EPERM': {
      if (!mayEnter(cwd)) return spawnFailed('permissionDenied', `permission to enter cwd "${cwd}" is denied`);
      const failure = whyNotExecutable(file) ?? 'permissionDenied';
      return spawnFailed(failure, describe(failure, file));
    }
    case 'E2BIG':
      return spawnFailed('badArgument', 'arguments and environment together are longer than the kernel accepts');
    case 'ENAMETOOLONG':
    case 'EINVAL':
    case 'ELOOP':
      return spawnFailed('badArgument', `"${file}" cannot be executed: ${errno}`);
    default:
      return spawnFailed('outOfResources', `the operating system cannot start another process now: ${errno}`);
  }
}

/**
 * The kernel also reports ENOENT when a program exists but its interpreter or loader does not. The interpreter is quoted as JSON, so that
 * a carriage return after its name is visible.
 */
function missingPart(file: string): string {
  const interpreter = interpreterOf(file);
  if (interpreter !== undefined) return `${JSON.stringify(interpreter)}, the interpreter of "${file}",`;
  return whyNotExecutable(file) === 'programNotFound' ? `program "${file}"` : `the loader of "${file}"`;
}

/** Why a file cannot be run as a program. */
type FileFailure = 'programNotFound' | 'notExecutable' | 'permissionDenied';

function whyNotExecutable(file: string): FileFailure | undefined {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return 'programNotFound';
    if (!stat.isFile() || (stat.mode & 0o111) === 0) return 'notExecutable';
    accessSync(file, constants.X_OK);
    return undefined;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ELOOP') return 'notExecutable';
    return errno === 'ENOTDIR' || errno === 'ENAMETOOLONG' ? 'programNotFound' : 'permissionDenied';
  }
}

function mayEnter(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The program on a script's `#!` line, as the kernel reads it: a carriage return is part of the name. */
export function interpreterOf(file: string): string | undefined {
  return /^#![ \t]*([^ \t\n\0]+)/.exec(firstBytes(file).toString('latin1'))?.[1];
}

/** Whether a shell could interpret the file: binaries have a NUL near the start. */
export function isText(file: string): boolean {
  return !firstBytes(file).includes(0);
}

/** Empty for a file that cannot be read: no interpreter could run it as a script either. */
function firstBytes(file: string): Buffer {
  try {
    const fd = openSync(file, 'r');
    try {
      const start = Buffer.alloc(256);
      return start.subarray(0, readSync(fd, start));
    } finally {
      closeSync(fd);
    }
  } catch {
    return Buffer.alloc(0);
  }
}

function describe(failure: FileFailure, file: string): string {
  switch (failure) {
    case 'programNotFound':
      return `program "${file}" does not exist`;
    case 'notExecutable':
      return `"${file}" is not an executable file`;
    case 'permissionDenied':
      return `permission to execute "${file}" is denied`;
  }
}

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
