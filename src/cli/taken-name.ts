// A name for a process that is to outlive us: not that of another one that runs.

import type { Client } from '../client/index.js';
import { UsageError } from './command.js';
import { attachTo } from './server-choice.js';

/**
 * Before anything is started: a command that cannot have its name would otherwise run, and be ended again. One that has ended gives
 * its name away as soon as its output has ended too.
 */
export async function requireFreeName(client: Client, name: string): Promise<void> {
  const namesakes = (await client.list({ scope: 'all' })).filter(({ processId }) => processId === name);
  if (namesakes.some(({ state }) => state === 'running')) {
    throw new UsageError(`${name} already runs; "sluice kill ${name}" ends it, "sluice restart ${name}" starts it again`);
  }
  for (const each of namesakes.filter(({ state }) => state === 'exited')) {
    await using handle = await attachTo(client, each, { follow: false });
    await handle.closed;
  }
}
