// `sluice files cat`: prints files.

import { UsageError } from '../command.js';
import { print } from '../own-output.js';
import { fileServer, remotePath } from '../remote-path.js';
import type { FileOrder } from './options.js';

export async function printFiles({ flags, paths }: FileOrder): Promise<number> {
  if (paths.length === 0) throw new UsageError('files cat needs a path, as in: sluice files cat /etc/hostname');
  await using client = await fileServer(flags);
  for (const path of paths) {
    await using content = await client.files.readStream(await remotePath(client, path));
    for await (const chunk of content) await print(chunk);
  }
  return 0;
}
