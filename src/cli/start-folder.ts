// The folder a command starts in: on this machine, or on a named server when -C is not given.

import path from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import type { Client } from '../client/index.js';
import { complain } from './own-output.js';
import type { NamedServer } from './server-options.js';

/** Appended to the meaning of -C in every manual that has it. */
export const defaultFolders =
  'Default: the current folder; with --connect the home of the server’s user; with --via the folder of the launched server.';

/** An absolute path on this machine. Throws when it is relative to our own folder and that has been removed. */
export function localFolder(named: string | undefined): string {
  try {
    return path.resolve(named ?? '.');
  } catch (cause) {
    throw new Error('the current folder has been removed; name another by its absolute path with -C', { cause });
  }
}

/**
 * With --connect it is the home of the server's user, as with ssh: where a server happened to be started means nothing to its callers. On
 * a terminal, a message names it. A launched server starts where ssh or docker put it, which is what the user of --via chose.
 */
export async function remoteFolder(client: Client, server: NamedServer): Promise<string | undefined> {
  const { cwd, userHomeDir } = await client.environment();
  if (server.kind === 'launched') return cwd === null ? undefined : fileURLToPath(cwd);
  const home = fileURLToPath(userHomeDir);
  if (isatty(2)) await complain(`running in ${home} on ${server.url}; use -C for another folder there`);
  return home;
}
