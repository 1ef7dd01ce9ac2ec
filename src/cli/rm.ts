// `sluice rm`: forgets processes that have ended.

import type { Client } from '../client/index.js';
import { type ProcessStatus, isExecError } from '../protocol/index.js';
import { type Flags, UsageError, defineCommand } from './command.js';
import { endAndWait } from './kill.js';
import { complain } from './own-output.js';
import { attachTo, pickProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';

const options = {
  force: { kind: 'switch', short: 'f', meaning: 'First end processes that are still running, as "sluice kill" does.' },
  ...serverOptions,
} as const;

export const rm = defineCommand(
  {
    name: 'rm',
    usage: '[OPTIONS] NAME...',
    about: 'Forgets processes that have ended, and their output. Their names can then be reused.',
    examples: [
      { line: 'sluice rm build', meaning: 'forget it' },
      { line: 'sluice rm --force web', meaning: 'end it first' },
      { line: 'sluice rm $(sluice ps -q --filter status=exited)', meaning: 'all that have ended' },
    ],
    options,
    operands: 'processes',
    notes: ['Exit status: 0 when all of them are forgotten; 1 when one is still running.'],
  },
  async ({ flags, operands }) => {
    if (operands.length === 0) throw new UsageError('rm needs a process, as in: sluice rm NAME');
    await using client = await requireServer(flags);
    const processes = await client.list({ scope: 'all' });
    const chosen = new Set(operands.map((name) => pickProcess(processes, name)));
    const results = await Promise.all([...chosen].map((each) => forget(client, each, flags)));
    return results.includes('stillRuns') ? 1 : 0;
  },
);

async function forget(client: Client, status: ProcessStatus, { force }: Flags<typeof options>): Promise<'done' | 'stillRuns'> {
  const { processId } = status;
  await using handle = await attachTo(client, status, { role: 'drive', follow: false });
  if (force && status.state !== 'closed') await endAndWait(handle, {});
  try {
    await handle.forget();
    return 'done';
  } catch (error) {
    if (!isExecError(error, 'processNotClosed')) throw error;
    const what = status.state === 'running' ? 'is still running' : 'has ended, but something it started still holds its output';
    await complain(`${processId} ${what}; "sluice rm --force ${processId}" ends it first`);
    return 'stillRuns';
  }
}
