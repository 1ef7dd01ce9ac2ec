// `sluice files ls`: lists a folder.

import type { Client, FileEntry } from '../../client/index.js';
import { UsageError } from '../command.js';
import { shownSize } from '../byte-size.js';
import { print } from '../own-output.js';
import { fileServer, remoteName, remotePath } from '../remote-path.js';
import { jsonLine, visible } from '../visible-text.js';
import type { FileOrder } from './options.js';

export async function listFiles({ flags, paths: [path = '.', extra] }: FileOrder): Promise<number> {
  if (extra !== undefined) throw new UsageError(`files ls takes one path, got "${extra}" too`);
  await using client = await fileServer(flags);
  const entries = await entriesAt(client, await remotePath(client, path));
  if (flags.json) await print(jsonLine(entries));
  else await print(flags.long ? longLines(entries) : entries.map(({ name }) => `${visible(name)}\n`).join(''));
  return 0;
}

/** What a folder contains, or the file itself. */
async function entriesAt(client: Client, path: string): Promise<FileEntry[]> {
  const { kind } = await client.files.stat(path);
  if (kind === 'directory') return client.files.list(path);
  return [{ name: remoteName(path), ...(await client.files.stat(path, { followSymlinks: false })) }];
}

function longLines(entries: readonly FileEntry[]): string {
  const sizes = entries.map(({ size }) => shownSize(size));
  const widest = Math.max(...sizes.map(({ length }) => length), 0);
  return entries
    .map(({ name, kind, permissions, modifiedAtMs, target }, index) => {
      const shown = visible(target === undefined ? name : `${name} -> ${target}`);
      return `${letters[kind]}${permissionText(permissions)}  ${sizes[index]?.padStart(widest)}  ${timeText(modifiedAtMs)}  ${shown}\n`;
    })
    .join('');
}

const letters = { file: '-', directory: 'd', symlink: 'l', other: '?' } as const;

/** As in `rwxr-xr-x`, with s and t for the special bits. */
function permissionText(permissions: number): string {
  const special = ['s', 's', 't'] as const;
  return special
    .map((letter, index) => {
      const bits = permissions >> (6 - 3 * index);
      const isSpecial = (permissions & (0o4000 >> index)) !== 0;
      const isRun = (bits & 1) !== 0;
      const run = isSpecial ? (isRun ? letter : letter.toUpperCase()) : isRun ? 'x' : '-';
      return `${(bits & 4) === 0 ? '-' : 'r'}${(bits & 2) === 0 ? '-' : 'w'}${run}`;
    })
    .join('');
}

/** Local time, to the minute. */
function timeText(ms: number): string {
  const date = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
