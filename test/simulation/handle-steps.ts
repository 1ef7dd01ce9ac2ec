// The steps on a process that a client has started or attached to, and checks of the answers.

import type { ProcessHandle } from '#src/client/index.js';
import type { Ending } from '#src/protocol/index.js';
import { isExecError } from '#src/protocol/index.js';
import { ConnectionClosedError } from '#src/rpc/rpc-error.js';
import { type Excuse, type Held, type SimulatedClient, excusing, problemWith } from './client.js';
import type { Fate, Stage } from './steps.js';
import type { HandleCall } from './scenario.js';

interface Handling {
  readonly actor: SimulatedClient;
  readonly held: Held;
  readonly step: HandleCall;
}

export function handleStep(stage: Stage, { actor, held, step }: Handling): void {
  const { spawned, handle: child, role } = held;
  const { name } = spawned;
  const fate = stage.fates.get(name);
  const isDriven = role !== 'watch' && fate !== undefined;
  /** A process may be forgotten once it has ended, but not before; and a client that has detached no longer has access to it. */
  const forgotten: Excuse = (error) => excusing('processNotFound')(error) && (isOver(stage, name) || !actor.held.has(name));
  switch (step.kind) {
    case 'pace':
      held.reader.pace = step.pace;
      return;
    case 'snapshot':
      return void actor.track(`snapshot ${name}`, child.snapshot(), forgotten).then((got) => checkSnapshot(stage, held, got));
    case 'read': {
      const page = child.read({ waitMs: step.waitMs, maxBytes: 100_000 });
      return void actor.track(`read ${name}`, page, forgotten).then((got) => checkPage(stage, held, got));
    }
    case 'wait': {
      const ending =
        step.timeoutMs === undefined ? child[step.until === 'exited' ? 'exit' : 'closed'] : child.endedWithin(step.timeoutMs);
      return void actor.track(`wait ${name}`, ending, forgotten).then((got) => checkEnding(stage, { actor, held }, got));
    }
    case 'write':
      return isDriven ? write(actor, held, { sizes: step.sizes, forgotten }) : undefined;
    case 'closeStdin':
      if (!isDriven) return;
      spawned.input.ending(actor.number);
      return void actor.track(`closeStdin ${name}`, child.closeStdin(), forgotten);
    case 'signal':
      return isDriven ? signal(actor, held, { fate, signal: step.signal }) : undefined;
    case 'terminate':
      if (!isDriven) return;
      fate.isMeantToEnd = true;
      return void actor.track(`terminate ${name}`, child.terminate({ forceAfterMs: step.forceAfterMs }), forgotten);
    case 'release':
      return role === 'owner' && fate?.releases === 'none' ? release(actor, held, { fate, forgotten }) : undefined;
    case 'detach':
      if (role === 'owner') return;
      actor.held.delete(name);
      return void actor.track(`detach ${name}`, child[Symbol.asyncDispose](), () => false);
  }
}

function isOver({ backend, fates }: Stage, name: string): boolean {
  const fate = fates.get(name);
  const isDisowned = fate === undefined || fate.releases !== 'none' || fate.owner.isGone;
  const spawned = backend.find(name);
  // A process that is stuck in the kernel is given up and forgotten while it is still alive.
  return isDisowned || spawned === undefined || spawned.script.stuckMs > 0 || !spawned.program.isLeaderAlive;
}

/** Sends all writes at once, without waiting for the answers. */
function write(
  actor: SimulatedClient,
  { spawned, handle: child }: Held,
  { sizes, forgotten }: { sizes: readonly number[]; forgotten: Excuse },
): void {
  for (const size of sizes) {
    const { bytes, answered } = spawned.input.next(actor.number, size);
    const written = child.write(bytes);
    written.then(answered, (error: unknown) => answered(isExecError(error, 'stdinFull') ? 'refused' : 'unknown'));
    void actor.track(`write to ${spawned.name}`, written, (error) => isExecError(error, 'stdinFull') || forgotten(error));
  }
}

function signal(
  actor: SimulatedClient,
  { spawned, handle: child }: Held,
  { fate, signal: name }: { fate: Fate; signal: string },
): void {
  if (name !== 'SIGUSR1' && name !== 'SIGCONT') fate.isMeantToEnd = true;
  if (name === 'SIGUSR1') fate.signals.asked += 1;
  // If it is lost with its connection, it is unknown whether the signal was delivered, and it is not resent.
  const excuse: Excuse = (error) =>
    error instanceof ConnectionClosedError ||
    (excusing('processNotFound')(error) &&
      (!spawned.program.isLeaderAlive || fate.owner.isGone || !actor.held.has(spawned.name)));
  const excuseOrBlind: Excuse = (error) => excuse(error) || isExecError(error, 'internalError');
  void actor.track(`${name} to ${spawned.name}`, child.signal(name), excuseOrBlind).then((delivered) => {
    if (delivered === true && name === 'SIGUSR1') fate.signals.delivered += 1;
  });
}

function release(
  actor: SimulatedClient,
  { spawned, handle: child }: Held,
  { fate, forgotten }: { fate: Fate; forgotten: Excuse },
): void {
  fate.releases = 'asked';
  const excuse: Excuse = (error) => forgotten(error) && !spawned.program.isLeaderAlive;
  void actor.track(`release ${spawned.name}`, child.release(), excuse).then((released) => {
    if (released !== undefined) fate.releases = 'done';
  });
}

function checkEnding({ world }: Stage, { actor, held }: Pick<Handling, 'actor' | 'held'>, ending: Ending | undefined): void {
  if (ending === undefined || (ending.kind === 'lost' && ending.reason === 'serverLost' && actor.isGone)) return;
  const problem = problemWith(ending, held.spawned);
  if (problem !== undefined) world.fail(`${actor.name} waits for ${held.spawned.name}: ${problem}`);
}

type SnapshotOf = Awaited<ReturnType<ProcessHandle['snapshot']>>;
type PageOf = Awaited<ReturnType<ProcessHandle['read']>>;

function checkSnapshot({ world }: Stage, { spawned }: Held, snapshot: SnapshotOf | undefined): void {
  for (const stream of ['stdout', 'stderr', 'pty'] as const) {
    const retained = snapshot?.streams[stream];
    if (retained === undefined) continue;
    const { head, tail, droppedBytes } = retained;
    const isRight = spawned.truth.isRight(stream, 0, head) && spawned.truth.isRight(stream, head.length + droppedBytes, tail);
    if (!isRight) world.fail(`the snapshot of ${spawned.name} is not what it wrote`);
  }
}

function checkPage({ world }: Stage, { spawned }: Held, page: PageOf | undefined): void {
  for (const { seq, stream, chunk } of page?.chunks ?? []) {
    const problem = spawned.truth.problemWith(seq, stream, chunk);
    if (problem !== undefined) world.fail(`a page of ${spawned.name}: ${problem}`);
  }
  if (page?.exitCode === 0 && (spawned.program.status?.kind !== 'code' || spawned.program.status.code !== 0)) {
    world.fail(`a page of ${spawned.name} reports code 0`);
  }
}
