// A run under way, from the command line: its events are shown, its questions answered, its prompts sent, and our signals steer it.

import type { AgentRun, Outcome, Turn } from '../../runner/index.js';
import { onSignals } from '../inherited-signals.js';
import type { PermissionRequest, Permissions } from './permissions.js';
import type { PromptLines } from './prompts.js';
import type { RunOutput } from './run-output.js';

export interface Driving {
  readonly output: RunOutput;
  readonly permissions: Permissions;
  /** Further prompts; none when absent. */
  readonly lines: PromptLines | undefined;
}

type StartedRun = AgentRun & { readonly firstTurn: Turn };

/** Rejects when events cannot be printed or prompts cannot be read: an agent whose output is lost does not go on. */
export async function driveRun(run: StartedRun, driving: Driving): Promise<Outcome> {
  using _signals = interruptOnSignals(run);
  try {
    const [outcome] = await Promise.all([outcomeOf(run, driving), show(run, driving)]);
    return outcome;
  } catch (error) {
    await run.stop();
    throw error;
  }
}

async function outcomeOf(run: AgentRun, { lines }: Driving): Promise<Outcome> {
  await lines?.sendTo(run);
  return Promise.race([run.finish(), run.outcome]);
}

async function show(run: StartedRun, driving: Driving): Promise<void> {
  for await (const event of run.events) {
    await driving.output.show(event);
    if (event.type === 'permission') await answer(run, event, driving);
  }
}

async function answer(run: StartedRun, request: PermissionRequest, { output, permissions }: Driving): Promise<void> {
  // Prompts do not come from stdin when questions are answered there, so the first turn is the only one.
  const over = Promise.race([run.firstTurn.result, run.outcome, withdrawal(run, request)]);
  const decision = await output.pauseFor(() => permissions.decide(request, over));
  if (decision !== undefined) await run.answer(request.requestId, decision);
}

/** Resolves when the program no longer wants the answer, at the latest with the end of the run. */
async function withdrawal(run: AgentRun, { requestId }: PermissionRequest): Promise<void> {
  for await (const event of run.events) if (event.type === 'permissionWithdrawn' && event.requestId === requestId) return;
}

function interruptOnSignals(run: AgentRun): Disposable {
  let isAsked = false;
  const interrupt = () => {
    void (isAsked ? run.stop() : run.interrupt());
    isAsked = true;
  };
  const stop = () => void run.stop();
  return onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => (signal === 'SIGINT' ? interrupt() : stop()));
}
