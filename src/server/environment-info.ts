// Describes the machine to a client before it starts anything.

import { homedir, tmpdir, userInfo } from 'node:os';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EnvironmentInfo } from '../protocol/index.js';
import type { Session } from './session.js';
import { version } from './version.js';

export function environmentInfo({ surroundings, capabilities }: Pick<Session, 'surroundings' | 'capabilities'>): EnvironmentInfo {
  const { cwd, env } = surroundings;
  const shell = env['SHELL'] ?? loginShell() ?? '/bin/sh';
  const tempDir = pathToFileURL(tmpdir()).href;
  return {
    shell: { name: basename(shell), path: shell },
    cwd: pathToFileURL(cwd).href,
    tempDir,
    temporaryDirectories: [...new Set([tempDir, pathToFileURL('/tmp').href])],
    userHomeDir: pathToFileURL(homedir()).href,
    platformOs: process.platform,
    executorVersion: version,
    serverPid: process.pid,
    capabilities,
  };
}

/** The shell in the user database; undefined for a user without an entry, as in some containers. */
function loginShell(): string | undefined {
  try {
    return userInfo().shell ?? undefined;
  } catch {
    return undefined;
  }
}
