// `sluice files rm`: removes files.

import { UsageError } from '../command.js';
import { fileServer, remotePath } from '../remote-path.js';
import type { FileOrder } from './options.js';

export async function removeFiles({ flags, paths }: FileOrder): Promise<number> {
  const { recursive, force } = flags;
  if (paths.length === 0) throw new UsageError('files rm needs a path, as in: sluice files rm /tmp/notes.txt');
  await using client = await fileServer(flags);
  for (const path of paths) await client.files.remove(await remotePath(client, path), { recursive, force });
  return 0;
}
