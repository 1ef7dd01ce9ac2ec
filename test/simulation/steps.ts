// The steps of clients and the faults, with a small function for each kind. The steps on a process are in handle-steps.ts.

import { ConnectionClosedError } from '#src/rpc/rpc-error.js';
import { type ProcessStatus, isExecError } from '#src/protocol/index.js';
import type { SimulatedBackend } from './backend.js';
import { type Excuse, type SimulatedClient, excusing, problemWith } from './client.js';
import { handleStep } from './handle-steps.js';
import { type Action, type ClientCall, type Fault, type Step, isClientCall, isFault } from './scenario.js';
import type { Script } from './script.js';
import type { Network } from './network.js';
import type { World } from './world.js';

/** What happened to a process, as far as the callers know. */
export interface Fate {
  readonly owner: SimulatedClient;
  releases: 'none' | 'asked' | 'done';
  /** A step was taken that may end it. */
  isMeantToEnd: boolean;
  readonly signals: { asked: number; delivered: number };
}

export interface Stage {
  readonly world: World;
  readonly backend: SimulatedBackend;
  readonly network: Network;
  readonly clients: readonly SimulatedClient[];
  readonly fates: Map<string, Fate>;
  readonly commands: Set<string>;
}

type CallOf<Kind extends ClientCall['kind']> = ClientCall & { readonly kind: Kind };

export function perform(stage: Stage, { client, target, step }: Action): void {
  const actor = stage.clients[client % stage.clients.length];
  if (actor === undefined || actor.hasLeft) return;
  stage.world.note(() => `${actor.name}: ${describe(step)}`);
  if (isFault(step)) return injectFault(stage, actor.name, step);
  if (actor.client === undefined) return;
  if (isClientCall(step)) return clientStep(stage, actor, { step, target });
  const held = [...actor.held.values()];
  const chosen = held[target % Math.max(1, held.length)];
  if (chosen !== undefined) handleStep(stage, { actor, held: chosen, step });
}

function injectFault({ world, network }: Stage, client: string, fault: Fault): void {
  switch (fault.kind) {
    case 'cut':
      for (let each = 0; each < fault.times; each += 1) {
        const { cut, lane, moment } = fault;
        network.arm(client, { cut, lane, moment, messages: fault.messages + each * (fault.messages + 1) });
      }
      return;
    case 'stall':
      return network.stall(client, fault.lane, fault.ms);
    case 'unreachable':
      return network.refuse(client, fault.ms);
    case 'blind':
      return world.blind(fault.ms);
  }
}

function clientStep(stage: Stage, actor: SimulatedClient, { step, target }: { step: ClientCall; target: number }): void {
  const { client } = actor;
  if (client === undefined) return;
  switch (step.kind) {
    case 'start':
      return start(stage, actor, step);
    case 'exec':
      return exec(stage, actor, step);
    case 'attach':
      return attach(stage, actor, { step, target });
    case 'list':
      return void actor
        .track('list', client.list({ scope: 'all' }), () => false)
        .then((listed) => checkList(stage, listed ?? []));
    case 'status':
      return void actor.track('environment', client.environment(), () => false);
    case 'leave':
      for (const fate of stage.fates.values()) if (fate.owner === actor && fate.releases !== 'done') fate.isMeantToEnd = true;
      return void actor.leave();
  }
}

function start(stage: Stage, actor: SimulatedClient, { script, timeoutMs, idleTimeoutMs }: CallOf<'start'>): void {
  const name = `p${stage.fates.size + 1}`;
  stage.backend.prepare(name, script);
  const isTimed = timeoutMs !== undefined || idleTimeoutMs !== undefined;
  const fate: Fate = { owner: actor, releases: 'none', isMeantToEnd: isTimed, signals: { asked: 0, delivered: 0 } };
  stage.fates.set(name, fate);
  const started = actor.client?.start({
    id: name,
    prepared: { program: '/bin/sh', argv: ['sh', name], cwd: '/', env: {}, io: ioOf(script) },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
  });
  const excuse: Excuse = (error) => {
    if (stage.backend.find(name) !== undefined) return false; // it runs, so the start must not fail
    return excusing('tooManyProcesses')(error) || (script.spawn === 'fails' && isExecError(error, 'spawnFailed'));
  };
  void actor.track(`start ${name}`, started ?? Promise.reject(new Error('no client to start it')), excuse).then((child) => {
    if (child !== undefined) actor.hold(child, 'owner');
  });
}

function ioOf({ io, stdin }: Script) {
  if (io === 'pty') return { kind: 'pty', rows: 24, cols: 80 } as const;
  return { kind: 'pipe', stdin: stdin === 'closed' ? 'closed' : 'open' } as const;
}

/** One-shot commands end with their connection; if a result arrives, it must be the true one. */
function exec(stage: Stage, actor: SimulatedClient, { script }: CallOf<'exec'>): void {
  const name = `c${stage.commands.size + 1}`;
  stage.commands.add(name);
  stage.backend.prepare(name, { ...script, io: 'pipe', stdin: 'closed' });
  const running = actor.client?.exec(['/bin/sh', name], { outputBytesCap: 10, timeoutMs: 'none' });
  const excuse: Excuse = (error) => error instanceof ConnectionClosedError || excusing('spawnFailed', 'tooManyProcesses')(error);
  void actor.track(`exec ${name}`, running ?? Promise.reject(new Error('no client to run it')), excuse).then((result) => {
    const spawned = stage.backend.find(name);
    if (result === undefined || spawned === undefined) return;
    const { truth, program } = spawned;
    const got = [result.stdoutBytes, result.stderrBytes];
    const written = [truth.streamBytes('stdout'), truth.streamBytes('stderr')];
    if (got.join() !== written.join()) stage.world.fail(`${name} wrote ${written.join()} bytes, but ${got.join()} are reported`);
    const mayHaveSurvivors = script.stuckMs > 0 || (script.descendant?.stuckMs ?? 0) > 0 || stage.world.wasBlindForLong;
    if (program.isAlive && !mayHaveSurvivors) stage.world.fail(`${name} is answered while it is running`);
    if (result.exitCode === 0 && (program.status?.kind !== 'code' || program.status.code !== 0))
      stage.world.fail(`${name} is reported to have succeeded`);
  });
}

function attach(stage: Stage, actor: SimulatedClient, { step, target }: { step: CallOf<'attach'>; target: number }): void {
  const others = [...stage.fates].filter(
    ([name, { owner }]) => owner !== actor && owner.sessionId !== '' && !actor.held.has(name),
  );
  const [name, fate] = others[target % Math.max(1, others.length)] ?? [];
  const truth = name === undefined ? undefined : stage.backend.find(name)?.truth;
  if (name === undefined || fate === undefined || truth === undefined || fate.releases === 'asked') return;
  const options = { role: step.role, afterSeq: Math.min(step.afterSeq, truth.lastSeq), sessionId: fate.owner.sessionId };
  const attached = actor.client?.attach(name, options) ?? Promise.reject(new Error('no client to attach'));
  const excuse = excusing('processNotFound', 'sessionNotFound', 'processExists');
  void actor.track(`attach ${name}`, attached, excuse).then((joined) => {
    if (joined !== undefined) actor.hold(joined, step.role);
  });
}

function checkList({ world, backend }: Stage, listed: readonly ProcessStatus[]): void {
  for (const { processId, ending, outputBytes } of listed) {
    const spawned = backend.find(processId);
    if (spawned === undefined) return world.fail(`${processId} is listed and was never spawned`);
    const problem = ending === undefined ? undefined : problemWith(ending, spawned);
    if (problem !== undefined) world.fail(`the list: ${processId}: ${problem}`);
    if (outputBytes > spawned.truth.totalBytes) world.fail(`the list: ${processId} wrote fewer than ${outputBytes} bytes`);
  }
}

function describe(step: Step): string {
  const { kind, ...rest } = step;
  return Object.keys(rest).length === 0 ? kind : `${kind} ${JSON.stringify(rest)}`;
}
