// The user's private folder, where the background server keeps its socket and its log.

import { type Stats, lstatSync, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { whyUnwritable } from '../unwritable.js';

export interface RuntimeFolder {
  readonly socketUrl: string;
  readonly logFile: string;
}

/** Where it is, whether or not it exists. */
export function runtimePath(env: NodeJS.ProcessEnv): string {
  const session = env['XDG_RUNTIME_DIR'];
  return session !== undefined && isOwnFolder(session) ? path.join(session, 'sluice') : path.join(tmpdir(), `sluice-${userId()}`);
}

/** Throws when another user could access it. With `leave`, a command that only looks for a server does not create the folder. */
export function runtimeFolder(env: NodeJS.ProcessEnv, ifMissing: 'make' | 'leave'): RuntimeFolder {
  const folder = runtimePath(env);
  const stats = statsOf(folder, ifMissing);
  // Any user can create a folder of this name in the folder for temporary files.
  if (stats !== undefined && (!stats.isDirectory() || stats.uid !== userId() || (stats.mode & 0o077) !== 0)) {
    throw new Error(`${folder} is not private (it must be your own folder, with mode 0700); remove it and try again`);
  }
  return { socketUrl: `unix://${path.join(folder, 'socket')}`, logFile: path.join(folder, 'serve.log') };
}

function statsOf(folder: string, ifMissing: 'make' | 'leave'): Stats | undefined {
  try {
    if (ifMissing === 'make') mkdirSync(folder, { recursive: true, mode: 0o700 });
    return lstatSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    throw withPlaceHint(folder, error);
  }
}

/** The folder may be on a disk that is full or read-only; the error names the variable that moves it elsewhere. */
export function withPlaceHint(folder: string, error: unknown): Error {
  return new Error(
    `the background server has no place for its socket and its log (${whyUnwritable(folder, error)}); ` +
      'set XDG_RUNTIME_DIR to a folder of yours that is writable, or name a server with --connect',
    { cause: error },
  );
}

/** After su, the variable may still name another user's folder. */
function isOwnFolder(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === userId();
}

function userId(): number {
  return process.getuid?.() ?? 0;
}
