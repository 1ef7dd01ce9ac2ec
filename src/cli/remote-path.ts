// Names of files on the server, and the server itself, for commands that work with files.

import { posix } from 'node:path';
import type { Client } from '../client/index.js';
import { chosenServer } from './server-choice.js';
import type { ServerFlags } from './server-options.js';

/** The named server, or else the background server. */
export async function fileServer(flags: ServerFlags, notify?: (text: string) => void): Promise<Client> {
  const client = await chosenServer(flags, notify);
  if (client !== undefined) return client;
  throw new Error('no server is running; name one with --connect or --via, or start one with "sluice serve --daemon"');
}

/** A relative path is relative to the server's folder. A file: URI stays one, since it may name a file that is not UTF-8. */
export async function remotePath(client: Client, text: string): Promise<string> {
  if (text.startsWith('/') || text.startsWith('file:')) return text;
  const { cwd } = await client.environment();
  if (cwd === null) throw new Error(`the server has no folder of its own; give an absolute path instead of "${text}"`);
  return posix.join(decodeURIComponent(new URL(cwd).pathname), text);
}

/** `name` in a folder on the server. */
export function remoteChild(folder: string, name: string): string {
  const child = folder.startsWith('file:') ? encodeURIComponent(name) : name;
  return folder.endsWith('/') ? `${folder}${child}` : `${folder}/${child}`;
}

/** The last name of a path on the server. */
export function remoteName(path: string): string {
  const name = posix.basename(path);
  return path.startsWith('file:') ? decodeURIComponent(name) : name;
}
