// `sluice wait`: waits until processes have ended, and exits as the last one did.

import { defineCommand, UsageError } from './command.js';
import { exitStatus, timedOut } from './exit-status.js';
import { complain, print } from './own-output.js';
import { attachTo, findProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';
import { jsonLine } from './visible-text.js';

const options = {
  timeout: {
    kind: 'duration',
    placeholder: 'TIME',
    meaning: 'Wait no longer than this; exits with 124 and leaves the processes running.',
  },
  json: { kind: 'switch', meaning: 'Print how each ended, one JSON object per line.' },
  ...serverOptions,
} as const;

export const wait = defineCommand(
  {
    name: 'wait',
    usage: '[OPTIONS] NAME...',
    about: 'Waits until the processes have ended, and exits with the status of the last one named.',
    examples: [
      { line: 'sluice wait build && echo done', meaning: 'continue when it has succeeded' },
      { line: 'sluice wait --timeout 5m build test', meaning: 'both, five minutes at most' },
    ],
    options,
    operands: 'processes',
    notes: ['Exit status: that of the last process named, as with "sluice exec"; 124 when the timeout expired first.'],
  },
  async ({ flags, operands }) => {
    if (operands.length === 0) throw new UsageError('wait needs a process, as in: sluice wait NAME');
    await using client = await requireServer(flags);
    const deadline = flags.timeout === undefined ? undefined : performance.now() + flags.timeout;
    let status = 0;
    for (const name of operands) {
      const found = await findProcess(client, name);
      await using handle = await attachTo(client, found, { follow: false });
      const ending = await handle.endedWithin(
        deadline === undefined ? undefined : Math.max(Math.ceil(deadline - performance.now()), 0),
      );
      if (ending === undefined) {
        await complain(`${found.processId} is still running`);
        return timedOut;
      }
      const { processId, sessionId } = found;
      if (flags.json) await print(jsonLine({ processId, sessionId, ...ending }));
      if (ending.kind === 'lost') await complain(`how ${processId} ended is unknown`);
      status = exitStatus(ending);
    }
    return status;
  },
);
