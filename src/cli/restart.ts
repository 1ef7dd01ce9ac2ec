// `sluice restart`: ends processes that were left running, and starts them again.

import { isExecError } from '../protocol/index.js';
import { UsageError, defineCommand } from './command.js';
import { failureStatus } from './exit-status.js';
import { complain, print } from './own-output.js';
import { pickProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';
import { visible } from './visible-text.js';

const options = {
  force: { kind: 'switch', short: 'f', meaning: 'Send SIGKILL at once, without SIGTERM first.' },
  grace: {
    kind: 'duration',
    placeholder: 'TIME',
    meaning: 'Time between SIGTERM and SIGKILL. Default: what the process was started with.',
  },
  ...serverOptions,
} as const;

export const restart = defineCommand(
  {
    name: 'restart',
    usage: '[OPTIONS] NAME...',
    about:
      'Ends processes that "sluice exec -d" left running, unless they have already ended, and starts them again with the same command, ' +
      'folder, variables, streams, labels and name. Their output starts afresh. Prints the name of each.',
    examples: [{ line: 'sluice restart web', meaning: 'end it, and start it as it was' }],
    options,
    operands: 'processes',
    notes: [
      'Exit status: 0 when all run again; 126 or 127 when a program cannot be executed or no longer exists; "sluice ps" still lists it.',
    ],
  },
  async ({ flags, operands }) => {
    if (operands.length === 0) throw new UsageError('restart needs a process, as in: sluice restart NAME');
    if (flags.force && flags.grace !== undefined) throw new UsageError('--force and --grace exclude each other');
    await using client = await requireServer(flags);
    const processes = await client.list({ scope: 'all' });
    const chosen = new Set(operands.map((name) => pickProcess(processes, name)));
    for (const { processId, sessionId } of chosen) {
      try {
        await client.restart(processId, { sessionId, forceAfterMs: flags.force ? 0 : flags.grace });
      } catch (error) {
        if (isExecError(error, 'notRestartable')) {
          throw new Error(`${processId} cannot be restarted: only processes from "sluice exec -d" can`, { cause: error });
        }
        if (!isExecError(error, 'spawnFailed')) throw error;
        await complain(`${processId} has ended and cannot be started again: ${error.message}`);
        return failureStatus(error.data.failure);
      }
      await print(`${visible(processId)}\n`);
    }
    return 0;
  },
);
