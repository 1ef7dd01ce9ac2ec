// A client as a caller would use it: the real one, on a simulated wire. It performs the scenario's steps and judges what it receives.

import { Client, type ExecLink, type ProcessHandle } from '#src/client/index.js';
import { RemoteLink } from '#src/client/remote-link.js';
import type { EventSource } from '#src/client/exec-link.js';
import { type Ending, type ProcessEvent, type ProcessId, isAnyExecError } from '#src/protocol/index.js';
import type { Channel } from '#src/rpc/channel.js';
import { ConnectionClosedError } from '#src/rpc/rpc-error.js';
import type { Clock } from '#src/base/clock.js';
import type { SimulatedBackend, Spawned } from './backend.js';
import { Judge } from './output-truth.js';
import type { Pace } from './scenario.js';
import type { World } from './world.js';

/** A process that a client has started or attached to. */
export interface Held {
  readonly spawned: Spawned;
  readonly handle: ProcessHandle;
  readonly role: 'owner' | 'watch' | 'drive';
  readonly reader: PacedReader;
}

export interface ClientOptions {
  readonly name: string;
  /** Distinguishes its writes from those of other clients. */
  readonly number: number;
  readonly kind: 'resumable' | 'bound';
  readonly world: World;
  readonly clock: Clock;
  readonly backend: SimulatedBackend;
  readonly open: () => Promise<Channel>;
}

/** Whether a call may fail with this error. */
export type Excuse = (error: unknown) => boolean;

export class SimulatedClient {
  readonly name: string;
  readonly number: number;
  readonly kind: 'resumable' | 'bound';
  readonly held = new Map<string, Held>();
  readonly #options: ClientOptions;
  readonly #world: World;
  readonly #judges = new Map<string, Judge>();
  readonly #calls = new Set<string>();
  #callCount = 0;
  #link: RemoteLink | undefined;
  #client: Client | undefined;
  #state: 'joining' | 'here' | 'gone' = 'joining';
  #hasLeft = false;

  constructor(options: ClientOptions) {
    this.name = options.name;
    this.number = options.number;
    this.kind = options.kind;
    this.#options = options;
    this.#world = options.world;
  }

  async join(): Promise<void> {
    const { clock, kind, open } = this.#options;
    try {
      const reconnectMs = kind === 'resumable' ? 25_000 : 0;
      const link = await RemoteLink.open({ clientName: this.name, clock, initializeMs: 10_000, reconnectMs, open });
      this.#link = link;
      this.#client = new Client(this.#judged(link), { clock });
      this.#state = 'here';
      void link.ended.then((problem) => this.#gone(problem));
    } catch (error) {
      this.#gone(String(error));
    }
  }

  /** Undefined unless it is connected or reconnecting. */
  get client(): Client | undefined {
    return this.#state === 'here' ? this.#client : undefined;
  }

  get link(): RemoteLink | undefined {
    return this.#state === 'here' ? this.#link : undefined;
  }

  get isGone(): boolean {
    return this.#state === 'gone';
  }

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  get sessionId(): string {
    return this.#link?.sessionId ?? '';
  }

  /** Calls that have not been answered. */
  get openCalls(): readonly string[] {
    return [...this.#calls];
  }

  /** Follows a call to its end. Fails the simulation if the call fails with an inexcusable error. */
  track<T>(what: string, call: Promise<T>, excuse: Excuse): Promise<T | undefined> {
    this.#callCount += 1;
    const label = `${this.name}: ${what} (${this.#callCount})`;
    this.#calls.add(label);
    this.#world.note(() => `${label} is called`);
    return call.then(
      (result) => {
        this.#calls.delete(label);
        this.#world.note(() => `${label} is done`);
        return result;
      },
      (error: unknown) => {
        this.#calls.delete(label);
        this.#world.note(() => `${label} fails: ${String(error)}`);
        const isOver = this.#state === 'gone' && error instanceof ConnectionClosedError;
        if (!isOver && !excuse(error)) this.#world.fail(`${label} fails with ${String(error)}`);
        return undefined;
      },
    );
  }

  /** Reads a process that was started or attached to. */
  hold(handle: ProcessHandle, role: Held['role']): void {
    const spawned = this.#options.backend.find(handle.id);
    if (spawned === undefined) return this.#world.fail(`${handle.id} exists but was never spawned`);
    const reader = new PacedReader(this.#world, `${this.name} reads ${handle.id}`, handle);
    this.held.set(handle.id, { spawned, handle, role, reader });
    void reader.readAll();
  }

  hasSeenClosed(name: string): boolean {
    return this.#judges.get(name)?.hasClosed === true;
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    await this.track('leave', this.#client?.close() ?? Promise.resolve(), () => false);
  }

  #gone(problem: string | undefined): void {
    this.#world.note(() => `${this.name}: is gone${problem === undefined ? '' : `, ${problem}`}`);
    this.#state = 'gone';
  }

  /** The link, with a judge for every event that is taken. */
  #judged(link: RemoteLink): ExecLink {
    return {
      service: link.service,
      ended: link.ended,
      onOutputDelta: link.onOutputDelta.bind(link),
      watch: link.watch.bind(link),
      openFlow: link.openFlow.bind(link),
      listen: link.listen.bind(link),
      follow: (id, afterSeq) => this.#judgedSource(link.follow(id, afterSeq), id, 'owner', afterSeq),
      attach: async (params) => {
        const attached = await link.attach(params);
        return { ...attached, events: this.#judgedSource(attached.events, params.processId, 'viewer', params.afterSeq ?? 0) };
      },
      detach: link.detach.bind(link),
      release: link.release.bind(link),
      close: link.close.bind(link),
    };
  }

  // oxlint-disable-next-line eslint/max-params -- the source, its process, the reader's role, and where it starts
  #judgedSource(source: EventSource, id: ProcessId, role: 'owner' | 'viewer', afterSeq: number): EventSource {
    const spawned = this.#options.backend.find(id);
    if (spawned === undefined) return source;
    const judge = new Judge(role, spawned.truth, afterSeq);
    this.#judges.set(id, judge);
    return {
      get ending() {
        return source.ending;
      },
      close: () => source.close(),
      next: async () => {
        const event = await source.next();
        if (event === undefined) return undefined;
        const problem = judge.problemWith(event) ?? problemWithExit(event, spawned);
        this.#world.note(() => `${this.name}: takes ${event.type} ${event.seq} of ${id}${sizeOf(event)}`);
        if (problem !== undefined) this.#world.fail(`${this.name}, ${role} of ${id}: ${problem}`);
        return event;
      },
    };
  }
}

/** Reads a handle to its end at the pace that is set. */
export class PacedReader {
  readonly #world: World;
  readonly #name: string;
  readonly #handle: ProcessHandle;
  #pace: Pace = 'fast';
  #faster: (() => void) | undefined;
  #isOver = false;

  constructor(world: World, name: string, handle: ProcessHandle) {
    this.#world = world;
    this.#name = name;
    this.#handle = handle;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  set pace(pace: Pace) {
    this.#pace = pace;
    if (pace !== 'stopped') this.#faster?.();
  }

  async readAll(): Promise<void> {
    const dice = this.#world.dice(this.#name);
    for await (const _ of this.#handle.output) {
      if (this.#pace === 'slow') await new Promise<void>((resolve) => void this.#world.soon(dice, resolve));
      if (this.#pace === 'stopped') await new Promise<void>((resolve) => (this.#faster = resolve));
    }
    this.#isOver = true;
  }
}

/** The reported ending must be the true one; only an end that was not observed may be reported as lost. */
export function problemWith(ending: Ending, { program, script }: Spawned): string | undefined {
  if (ending.kind === 'lost') return script.stuckMs > 0 ? undefined : 'lost is reported for a process whose end was observed';
  const { status } = program;
  const isTrue =
    (ending.kind === 'code' && status?.kind === 'code' && ending.code === status.code) ||
    (ending.kind === 'signal' && status?.kind === 'signal' && ending.signal === status.signal);
  return isTrue ? undefined : `it ended with ${JSON.stringify(status)}, but is reported with ${JSON.stringify(ending)}`;
}

/** Codex's exit code must agree with the ending: the code itself, more than 128 for a signal, -1 for an end that was not observed. */
function problemWithExit(event: ProcessEvent, spawned: Spawned): string | undefined {
  if (event.type !== 'exited') return undefined;
  const { ending, exitCode } = event;
  const isRight = ending.kind === 'code' ? exitCode === ending.code : ending.kind === 'signal' ? exitCode > 128 : exitCode === -1;
  return isRight ? problemWith(ending, spawned) : `${ending.kind} is reported as exit code ${exitCode}`;
}

export function excusing(...kinds: readonly string[]): Excuse {
  return (error) => isAnyExecError(error) && kinds.includes(error.kind);
}

function sizeOf(event: ProcessEvent): string {
  const dropped = event.droppedBytes === undefined ? '' : `, ${event.droppedBytes} bytes missing before`;
  return event.type === 'output' ? `, ${event.chunk.length} bytes${dropped}` : dropped;
}
