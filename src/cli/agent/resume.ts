// `sluice agent resume`: continues the session of an earlier run.

import { summarizeRuns } from '../../runner/index.js';
import { UsageError } from '../command.js';
import { type Order, agentOptions, logFolder } from './options.js';
import { runAgent } from './run.js';

/** Uses the adapter and the folder of the earlier run unless the flags name others. */
export async function resumeSession({ flags, operands: [name, ...operands], args }: Order): Promise<number> {
  if (name === undefined)
    throw new UsageError('agent resume needs a session or a run, as in: sluice agent resume SESSION "now the docs"');
  const earlier = (await summarizeRuns(logFolder(flags))).findLast(
    ({ sessionId, runId }) => sessionId === name || runId === name,
  );
  const adapter = flags.adapter ?? agentOptions.adapter.choices.find((choice) => choice === earlier?.adapter);
  const cwd = flags.cwd ?? earlier?.cwd;
  return runAgent({ flags: { ...flags, adapter, cwd }, operands, args, session: earlier?.sessionId ?? name });
}
