// `sluice files watch`: prints what changes.

import type { FileEvent } from '../../client/index.js';
import { UsageError } from '../command.js';
import { onSignals } from '../inherited-signals.js';
import { complain, print } from '../own-output.js';
import { fileServer, remotePath } from '../remote-path.js';
import { jsonLine, visible } from '../visible-text.js';
import type { FileOrder } from './options.js';

export async function watchFiles({ flags, paths: [path = '.', extra] }: FileOrder): Promise<number> {
  if (extra !== undefined) throw new UsageError(`files watch takes one path, got "${extra}" too`);
  await using client = await fileServer(flags);
  const watched = await remotePath(client, path);
  await using watch = client.files.watch(watched, { recursive: flags.recursive });
  let isInterrupted = false;
  using _signals = onSignals(['SIGINT', 'SIGTERM'], () => {
    isInterrupted = true;
    void watch.return();
  });
  await watch.ready;
  if (process.stderr.isTTY) await complain(`watching ${watched}`);
  for await (const event of watch) await print(flags.json ? jsonLine(event) : `${eventText(event)}\n`);
  if (isInterrupted) return 0;
  await complain(`${watched} is gone`);
  return 1;
}

function eventText(event: FileEvent): string {
  if (event.kind === 'overflow') return 'overflow';
  const from = event.from === undefined ? '' : `${event.from} -> `;
  return `${event.kind.padEnd('overflow'.length)}  ${visible(from + event.path)}`;
}
