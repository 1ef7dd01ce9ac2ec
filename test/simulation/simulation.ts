// One scenario from beginning to end: the real server and real clients on simulated wires, programs and time. Faults are injected first;
// then they stop, and every promise must be kept.

import { type ClockUse, CountedClock } from './counted-clock.js';
import { Server } from '#src/server/index.js';
import { SimulatedBackend } from './backend.js';
import { SimulatedClient } from './client.js';
import { type Stage, perform } from './steps.js';
import { watchMemory } from './memory-rules.js';
import { Network } from './network.js';
import type { Scenario } from './scenario.js';
import type { Script } from './script.js';
import { World } from './world.js';

export interface Outcome {
  readonly failure: string | undefined;
  readonly events: number;
  readonly trace: readonly string[];
}

/** Longer than anything that is meant to end: half-open connections are noticed and sessions expire. */
const longMs = 120_000;

const kib = 1024;

export async function simulate(scenario: Scenario, options: { readonly traced: boolean }): Promise<Outcome> {
  const world = new World(scenario.luck, options);
  const onUnhandled = (reason: unknown) => world.fail(`unhandled rejection: ${String(reason)}`);
  process.on('unhandledRejection', onUnhandled);
  try {
    await play(world, scenario);
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
  return { failure: world.failure, events: world.eventCount, trace: world.trace };
}

async function play(world: World, scenario: Scenario): Promise<void> {
  const clock = new CountedClock(world);
  const backend = new SimulatedBackend(world);
  const { windowBytes, retainedBytes, stdinCapBytes, maxProcesses, maxClosed } = scenario.limits;
  const limits = {
    retainedBytes,
    retainedEntries: 60,
    headBytes: 8 * kib,
    readerWindowBytes: windowBytes,
    stdinWindowBytes: 10 * kib,
    stdinCapBytes,
    maxProcessesPerCaller: maxProcesses,
    maxClosed,
  };
  const server = new Server({ backend, clock, limits, surroundings: { cwd: '/', env: { SHELL: '/bin/sh' } } });
  const network = new Network(world, server);
  watchMemory(world, { server, backend, limits });
  const clients = scenario.clients.map((kind, index) => {
    const name = 'abc'[index] ?? 'z';
    return new SimulatedClient({
      name,
      number: index + 1,
      kind,
      world,
      clock,
      backend,
      open: () => network.open(name),
    });
  });
  const stage: Stage = { world, backend, network, clients, fates: new Map(), commands: new Set() };
  for (const client of clients) void client.join();
  await world.run(() => clients.every((each) => each.client !== undefined), longMs);
  const acts = [
    () => faults(stage, scenario),
    () => calm(stage),
    () => endings(stage),
    () => abandonedCommands(stage),
    () => farewell(stage, server),
    () => theEnd(stage, server, clock),
  ];
  for (const act of acts) if (world.failure === undefined) await act(); // after a failure, further failures mean nothing
}

async function faults(stage: Stage, { actions }: Scenario): Promise<void> {
  for (const action of actions) {
    await stage.world.run(() => false, action.afterMs);
    if (stage.world.failure !== undefined) return;
    perform(stage, action);
  }
}

/** Everything works again and owners keep reading; viewers stay as slow as they are and must not hold up the others. */
async function calm({ world, network, clients, backend }: Stage): Promise<void> {
  world.note(() => 'no more faults from here on');
  world.isCalm = true;
  network.heal();
  for (const client of clients) {
    for (const { role, reader } of client.held.values()) if (role === 'owner') reader.pace = 'fast';
  }
  await world.run(() => false, 20_000);
  const isStarting = () => clients.some(({ openCalls }) => openCalls.some((call) => call.includes(': start')));
  await world.run(() => !isStarting(), longMs);
  // Only now, because a SIGSTOP may have been in flight.
  for (const { program } of backend.all()) void program.signalGroup('SIGCONT');
  await world.run(() => false, 10_000);
  for (const { name, program, script, input } of backend.all()) {
    const isReading = script.stdin === 'read' || script.stdin === 'echoed';
    if (!isReading || !program.isLeaderAlive) continue;
    world.note(() => `${name}: must have received everything`);
    input.checkComplete();
  }
}

/** Owners terminate what does not end on its own, and see the end of everything that they started. */
async function endings(stage: Stage): Promise<void> {
  const { world, clients, fates } = stage;
  for (const client of clients) {
    if (client.client === undefined || client.hasLeft) continue;
    for (const { handle, role, spawned } of client.held.values()) {
      const fate = fates.get(spawned.name);
      if (role !== 'owner' || fate === undefined || fate.releases !== 'none') continue;
      void client.track(
        `final terminate ${spawned.name}`,
        handle.terminate({ forceAfterMs: 50 }),
        () => !spawned.program.isLeaderAlive || spawned.script.stuckMs > 0,
      );
    }
  }
  const waiting = () => clients.flatMap((client) => unfinished(stage, client, ['owner']));
  if (!(await world.run(() => waiting().length === 0, longMs)) && world.failure === undefined) {
    world.fail(`waits in vain: ${waiting().join('; ')}`);
  }
  for (const client of clients) for (const { reader } of client.held.values()) reader.pace = 'fast';
  const viewing = () => clients.flatMap((client) => unfinished(stage, client, ['watch', 'drive']));
  if (!(await world.run(() => viewing().length === 0, longMs)) && world.failure === undefined) {
    world.fail(`views in vain: ${viewing().join('; ')}`);
  }
}

/** Readers that should have reached the end, in words. */
function unfinished({ fates }: Stage, client: SimulatedClient, roles: readonly string[]): string[] {
  return [...client.held.values()].flatMap(({ spawned: { name }, role, reader }) => {
    if (!roles.includes(role) || client.hasLeft) return [];
    const fate = fates.get(name);
    if (fate?.releases !== 'none') return [];
    if (!reader.isOver) return [`${client.name} reads ${name}`];
    const mustHaveSeenEnd = role === 'owner' && !client.isGone && !client.hasSeenClosed(name);
    return mustHaveSeenEnd ? [`${client.name} saw no end of ${name}`] : [];
  });
}

/** Commands whose callers lost their connection end with it, even if the session continues. */
async function abandonedCommands({ world, clients, backend, commands }: Stage): Promise<void> {
  const isAwaited = (name: string) => clients.some(({ openCalls }) => openCalls.some((call) => call.includes(`exec ${name} `)));
  const left = () =>
    backend
      .all()
      .filter(({ name, program, script }) => commands.has(name) && !isAwaited(name) && program.isAlive && !isStuck(script));
  const isOver = await world.run(() => left().length === 0, longMs);
  const [first] = left();
  if (!isOver && first !== undefined && !world.wasBlindForLong) world.fail(`${first.name} outlives its connection`);
}

/** Cannot be killed within the time of the simulation. */
function isStuck({ stuckMs, descendant }: Script): boolean {
  return Math.max(stuckMs, descendant?.stuckMs ?? 0) > longMs;
}

/** The clients leave. Processes that they did not release end with their sessions; released ones keep running. */
async function farewell({ world, clients, backend, fates, network, commands }: Stage, server: Server): Promise<void> {
  for (const client of clients) if (!client.hasLeft) void client.leave();
  const isAnswered = () => clients.every(({ openCalls }) => openCalls.length === 0);
  const isUnowned = () => server.sessions.all().every(({ id }) => !clients.some(({ sessionId }) => sessionId === id));
  await world.run(() => isAnswered() && isUnowned(), longMs);
  await world.run(() => false, 20_000);
  for (const call of clients.flatMap(({ openCalls }) => openCalls)) world.fail(`never answered: ${call}`);
  for (const request of network.rules.unanswered) world.fail(`never answered: ${request}`);
  for (const { name, program, script } of backend.all()) {
    const fate = fates.get(name);
    const isDue = !isStuck(script) && !world.wasBlindForLong;
    if (program.isAlive && isDue && (commands.has(name) || fate?.releases === 'none')) world.fail(`${name} outlives its session`);
    const staysForEver = script.end.kind === 'stays' && fate?.releases === 'done' && !fate.isMeantToEnd;
    if (staysForEver && !program.isAlive) world.fail(`${name} was released but did not outlive its session`);
    if (fate === undefined) continue;
    const came = program.signals.get('SIGUSR1') ?? 0;
    if (came > fate.signals.asked || came < fate.signals.delivered) {
      world.fail(
        `${name} got SIGUSR1 ${came} times, was sent ${fate.signals.asked}, of which ${fate.signals.delivered} were confirmed`,
      );
    }
  }
}

async function theEnd({ world, backend }: Stage, server: Server, clock: ClockUse): Promise<void> {
  let isClosed = false;
  void server.close().then(() => (isClosed = true));
  await world.run(() => isClosed, longMs);
  if (!isClosed) world.fail('the server does not close');
  await world.run(() => false, 20_000);
  for (const { name, program, script } of backend.all()) {
    if (program.isAlive && !isStuck(script) && !world.wasBlindForLong) world.fail(`${name} outlives the server`);
  }
  if (server.sessions.size > 0) world.fail(`${server.sessions.size} sessions are left`);
  if (clock.running > 0) world.fail(`${clock.running} timers are left`);
}
