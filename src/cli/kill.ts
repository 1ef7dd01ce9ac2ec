// `sluice kill`: ends processes for certain, or sends them a signal.

import type { Client } from '../client/index.js';
import type { ProcessStatus } from '../protocol/index.js';
import { type Flags, UsageError, defineCommand } from './command.js';
import { complain } from './own-output.js';
import { attachTo, pickProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';

const options = {
  signal: {
    kind: 'text',
    short: 's',
    placeholder: 'SIGNAL',
    meaning: 'Send this signal to the process and its group, as in -s INT, and do nothing else.',
  },
  force: { kind: 'switch', short: 'f', meaning: 'SIGKILL at once, without asking first.' },
  grace: {
    kind: 'duration',
    placeholder: 'TIME',
    meaning: 'Between SIGTERM and SIGKILL; else what the process was started with.',
  },
  all: { kind: 'switch', meaning: 'Every process that runs.' },
  ...serverOptions,
} as const;

export const kill = defineCommand(
  {
    name: 'kill',
    usage: '[OPTIONS] NAME...',
    about:
      'Ends processes and everything they started: SIGTERM, then SIGKILL after the grace. Comes back when they are gone, and that was checked.',
    examples: [
      { line: 'sluice kill web', meaning: 'end it' },
      { line: 'sluice kill --force --all', meaning: 'end everything, now' },
      { line: 'sluice kill -s INT web', meaning: 'as Ctrl-C would' },
    ],
    options,
    operands: 'processes',
    notes: ['Exit status: 0 when all of them are gone, or got the signal; 1 when one had ended before.'],
  },
  async ({ flags, operands }) => {
    if (operands.length === 0 && !flags.all) throw new UsageError('kill needs a process, as in: sluice kill NAME; or --all');
    if (operands.length > 0 && flags.all) throw new UsageError('--all and names exclude each other');
    if (flags.signal !== undefined && (flags.force || flags.grace !== undefined)) {
      throw new UsageError('--signal sends one signal and nothing else; leave --force and --grace out');
    }
    await using client = await requireServer(flags);
    const processes = await client.list({ scope: 'all' });
    const chosen = flags.all
      ? processes.filter(({ state }) => state === 'running')
      : operands.map((name) => pickProcess(processes, name));
    const results = await Promise.all(chosen.map((each) => end(client, each, flags)));
    return results.includes('alreadyEnded') ? 1 : 0;
  },
);

async function end(client: Client, status: ProcessStatus, flags: Flags<typeof options>): Promise<'done' | 'alreadyEnded'> {
  await using handle = await attachTo(client, status, { role: 'drive', follow: false });
  const isDone =
    flags.signal === undefined
      ? await handle.terminate(flags.force ? { forceAfterMs: 0 } : flags.grace === undefined ? {} : { forceAfterMs: flags.grace })
      : await handle.signal(flags.signal);
  if (flags.signal === undefined) await handle.closed;
  if (isDone) return 'done';
  await complain(`${status.processId} has ended already`);
  return 'alreadyEnded';
}
