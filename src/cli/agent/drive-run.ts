// Drives a run from the command line: shows its events, answers its permission requests, sends its prompts and interrupts it on signals.

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

/** Stops the run and rejects when events cannot be printed or prompts cannot be read: an agent must not work on unseen. */
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
  // When the user answers requests on stdin, prompts cannot come from there, so the first turn is the only one.
  const over = Promise.race([run.firstTurn.result, run.outcome, withdrawal(run, request)]);
  const decision = await output.pauseFor(() => permissions.decide(request, over));
  if (decision !== undefined) await run.answer(request.requestId, decision);
}

/** Resolves when the program withdraws the request or the run ends. */
async function withdrawal(run: AgentRun, { requestId }: PermissionRequest): Promise<void> {
  for await (const event of run.events) if (event.type === 'permissionWithdrawn' && event.requestId === requestId) return;
}

function interruptOnSignals(run: AgentRun): Disposable {
  let isInterrupted = false;
  const interrupt = () => {
    void (isInterrupted ? run.stop() : run.interrupt());
    isInterrupted = true;
  };
  const stop = () => void run.stop();
  return onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => (signal === 'SIGINT' ? interrupt() : stop()));
}
