// `sluice kill`: ends processes for certain, or sends them a signal.

import { constants } from 'node:os';
import type { Client, ProcessHandle, TerminateOptions } from '../client/index.js';
import type { ProcessStatus } from '../protocol/index.js';
import { type Flags, UsageError, defineCommand } from './command.js';
import { complain } from './own-output.js';
import { attachTo, pickProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';

const signalNames = Object.keys(constants.signals).map((name) => name.replace(/^SIG/, ''));

const options = {
  signal: {
    kind: 'text',
    short: 's',
    placeholder: 'SIGNAL',
    meaning:
      'Send this signal to the process and its group, as in -s INT, and do nothing else; -INT and -2 do the same. KILL means --force.',
    alone: new RegExp(`^(?:\\d+|(?:SIG)?(?:${signalNames.join('|')}))$`, 'i'),
  },
  force: { kind: 'switch', short: 'f', meaning: 'Send SIGKILL at once, without SIGTERM first.' },
  grace: {
    kind: 'duration',
    placeholder: 'TIME',
    meaning: 'Time between SIGTERM and SIGKILL. Default: what the process was started with.',
  },
  all: { kind: 'switch', meaning: 'Choose every running process.' },
  ...serverOptions,
} as const;

export const kill = defineCommand(
  {
    name: 'kill',
    usage: '[OPTIONS] [-SIGNAL] NAME...',
    about:
      'Ends processes and everything they started: SIGTERM, then SIGKILL after the grace period. Returns when they are verifiably gone.',
    examples: [
      { line: 'sluice kill web', meaning: 'end it' },
      { line: 'sluice kill --force --all', meaning: 'end everything, now' },
      { line: 'sluice kill -s INT web', meaning: 'as Ctrl-C would' },
      { line: 'sluice kill -9 web', meaning: 'the same as --force' },
    ],
    options,
    operands: 'processes',
    notes: ['Exit status: 0 when all of them are gone, or got the signal; 1 when one had already ended.'],
  },
  async ({ flags, operands }) => {
    if (operands.length === 0 && !flags.all) throw new UsageError('kill needs a process, as in: sluice kill NAME; or --all');
    if (operands.length > 0 && flags.all) throw new UsageError('--all and names exclude each other');
    if (flags.signal !== undefined && (flags.force || flags.grace !== undefined)) {
      throw new UsageError('--signal sends one signal and nothing else; leave --force and --grace out');
    }
    const signal = flags.signal === undefined ? undefined : signalOf(flags.signal);
    // No process can refuse SIGKILL, so the user wants it gone, with everything it started.
    const order = signal === 'SIGKILL' ? { ...flags, signal: undefined, force: true } : { ...flags, signal };
    await using client = await requireServer(flags);
    const processes = await client.list({ scope: 'all' });
    const chosen = flags.all
      ? processes.filter(({ state }) => state === 'running')
      : operands.map((name) => pickProcess(processes, name));
    const results = await Promise.all(chosen.map((each) => end(client, each, order)));
    return results.includes('alreadyEnded') ? 1 : 0;
  },
);

/** Resolves to whether it still ran. `closed` is requested first, because a process that is not kept is forgotten once it has closed. */
export async function endAndWait(handle: ProcessHandle, how: TerminateOptions): Promise<boolean> {
  const [, isDone] = await Promise.all([handle.closed, handle.terminate(how)]);
  return isDone;
}

/** Finds a signal by its name, or by its number on this machine. */
function signalOf(text: string): string {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  const name =
    Object.keys(numbers).find((known) => String(numbers[known]) === text) ?? `SIG${text.toUpperCase().replace(/^SIG/, '')}`;
  if (Object.hasOwn(numbers, name)) return name;
  throw new UsageError(`there is no signal "${text}"; use a name such as INT, or its number`);
}

async function end(client: Client, status: ProcessStatus, flags: Flags<typeof options>): Promise<'done' | 'alreadyEnded'> {
  await using handle = await attachTo(client, status, { role: 'drive', follow: false });
  const grace = flags.force ? 0 : flags.grace;
  const isDone =
    flags.signal === undefined
      ? await endAndWait(handle, grace === undefined ? {} : { forceAfterMs: grace })
      : await handle.signal(flags.signal);
  if (isDone) return 'done';
  await complain(`${status.processId} has already ended`);
  return 'alreadyEnded';
}
