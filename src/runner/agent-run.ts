// A run: prompts in, typed events out, one outcome. Turns run one after another, in one process or one process each, depending on the
// program.

import { systemClock } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { PermissionAnswer } from './agent-adapter.js';
import type { AdapterEvent, EventBody, TurnResult } from './agent-event.js';
import { type AgentOptions, type Turn, checkLabels, runLimits } from './agent-options.js';
import { AgentProgram } from './agent-program.js';
import { type SeenEvent, turnEvents } from './event-log.js';
import { type Known, learn } from './known.js';
import { type Outcome, type Verdict, outcomeOf } from './outcome.js';
import { PermissionRequests } from './permission-requests.js';
import { runHeader } from './run-log.js';
import { RunRecord } from './run-record.js';
import { RunningTurn, type TurnContext, cutOff } from './running-turn.js';
import { TurnQueue } from './turn-queue.js';
import { Watchdogs } from './watchdogs.js';

type Phase =
  /** Accepts prompts. */
  | { readonly kind: 'open' }
  /** Runs the turns already requested and accepts no more. */
  | { readonly kind: 'finishing' }
  /** Begins no further turn. The verdict is undefined when the program ended on its own. */
  | { readonly kind: 'ending'; readonly verdict: Verdict | undefined }
  /** Has its outcome. */
  | { readonly kind: 'over' };

export class AgentRun {
  readonly id: string;
  readonly #context: TurnContext;
  readonly #record: RunRecord;
  readonly #permissions: PermissionRequests;
  readonly #turns = new TurnQueue();
  readonly #ending = new AbortController();
  readonly #outcome = deferred<Outcome>();
  #phase: Phase = { kind: 'open' };
  /** The current turn, or the last one. */
  #turn: RunningTurn | undefined;

  /** Use `startAgent`. */
  constructor(options: AgentOptions) {
    const { adapter, io, labels = {}, clock = systemClock, resume } = options;
    checkLabels(labels);
    const own = io === 'pty' ? { ...options, adapter: adapter.onTerminal ?? adapter } : options;
    const limits = runLimits(options);
    const header = runHeader(options, clock.now());
    this.id = header.runId;
    this.#record = new RunRecord(header, { clock, folder: options.logDir });
    const known: Known = { progress: 'none', ...(resume === undefined ? {} : { resume }) };
    const emit = (body: EventBody) => this.#emit(body);
    const watchdogs = new Watchdogs({
      clock,
      limits,
      look: () => program.activity(),
      expired: (watchdog, limitMs) =>
        void this.#end({ kind: watchdog === 'idle' ? 'idleTimedOut' : 'timedOut', watchdog, limitMs }),
    });
    const program = new AgentProgram({
      ...{ options: own, clock, exitPatienceMs: limits.exitPatienceMs, known, emit },
      onEvent: (event) => this.#onEvent(event),
      onActivity: () => watchdogs.output(),
      onEnded: () => this.#onProcessEnded(),
    });
    this.#context = { options: own, clock, program, watchdogs, known, emit, ending: this.#ending.signal };
    // A program that waits for its caller is not idle, and the wait does not count towards the turn's time.
    this.#permissions = new PermissionRequests((isWaiting) => watchdogs[isWaiting ? 'pause' : 'resume']());
  }

  /** Every event from the first one, for any number of readers. */
  get events(): AsyncIterable<SeenEvent> {
    return this.#record.read();
  }

  get outcome(): Promise<Outcome> {
    return this.#outcome.promise;
  }

  /** It accepts no more prompts. */
  get isOver(): boolean {
    return this.#phase.kind !== 'open';
  }

  /** Undefined until the program has reported it. */
  get sessionId(): string | undefined {
    return this.#context.known.sessionId;
  }

  /** The file with every event; undefined without a `logDir`. */
  get logFile(): string | undefined {
    return this.#record.file;
  }

  /** Sends a prompt to the program once the previous turns have ended. */
  send(prompt: string): Turn {
    if (prompt.trim() === '') throw new Error('the prompt must not be empty, even when resuming a session');
    if (this.#phase.kind === 'finishing') throw new Error('the run is finishing and takes no more prompts');
    if (this.isOver) throw new Error('the run has ended; start another one to resume its session');
    const { lastSeq } = this.#record;
    const { number, result } = this.#turns.add((turn) => this.#runTurn(turn, prompt));
    return { number, result, events: turnEvents(this.#record.read(lastSeq), number) };
  }

  /** Interrupts the current turn; the program keeps running if it can. */
  async interrupt(): Promise<void> {
    if (this.#turn !== undefined) this.#turn.isInterrupted = this.#isBusy;
    await this.#context.program.process?.interrupt();
  }

  /** Answers a permission request; false when no request with that id is waiting. */
  async answer(requestId: string, answer: PermissionAnswer): Promise<boolean> {
    const { options, program } = this.#context;
    const request = this.#permissions.get(requestId);
    const line = request === undefined ? undefined : options.adapter.encodePermission?.(request, answer);
    if (line === undefined || program.process === undefined) return false;
    this.#permissions.delete(requestId);
    return program.process.writeLine(line);
  }

  /** Accepts no more prompts: once the requested turns have ended, the program is left to exit. */
  async finish(): Promise<Outcome> {
    if (this.#phase.kind === 'open') this.#phase = { kind: 'finishing' };
    await this.#turns.drained;
    await this.#context.program.letExit('after its last turn');
    this.#conclude();
    return this.outcome;
  }

  /** Terminates the program and everything it started, now; a program that is still being started, as soon as it has started. */
  async stop(): Promise<Outcome> {
    await this.#end({ kind: this.#isBusy ? 'interrupted' : 'stoppedBetweenTurns' });
    return this.outcome;
  }

  /** A requested turn has not been answered yet. */
  get #isBusy(): boolean {
    return this.#turn?.isAnswered === false || this.#turns.asked > (this.#turn?.number ?? 0);
  }

  /** The first reason to end counts; undefined when the program ended on its own. */
  async #end(verdict: Verdict | undefined): Promise<void> {
    if (this.#phase.kind === 'open' || this.#phase.kind === 'finishing') {
      this.#phase = { kind: 'ending', verdict };
      this.#ending.abort();
    }
    await this.#context.program.process?.end();
    await this.#turns.drained;
    this.#conclude();
  }

  async #runTurn(number: number, prompt: string): Promise<TurnResult> {
    if (!this.#ending.signal.aborted) {
      this.#turn = new RunningTurn({ number, prompt }, this.#context);
      const result = await this.#turn.run();
      if (result !== cutOff) return result;
    }
    void this.#end(undefined);
    return cutOff;
  }

  #onEvent(event: AdapterEvent): void {
    const { known, options } = this.#context;
    const turn = this.#turn;
    learn(known, event);
    // Do not wait for a request that cannot be answered.
    if (event.type === 'permission' && options.adapter.encodePermission !== undefined) this.#permissions.add(event);
    if (event.type === 'permissionWithdrawn') this.#permissions.delete(event.requestId);
    if (turn !== undefined && event.type === 'rateLimit' && event.state === 'block') turn.block = { resetsAt: event.resetsAt };
    if (turn !== undefined && event.type === 'retry') turn.problem = event.problem;
    if (event.type !== 'turnEnded') return this.#emit(event);
    this.#permissions.clear(); // no request waits for an answer any longer
    turn?.ended(event.result);
  }

  #onProcessEnded(): void {
    this.#permissions.clear();
    const wasNeeded = this.#turn?.processEnded() === true;
    if (!wasNeeded && this.#context.options.adapter.turnsPerProcess === 'many') void this.#end(undefined);
  }

  #conclude(): void {
    if (this.#phase.kind === 'over') return;
    const verdict = this.#phase.kind === 'ending' ? this.#phase.verdict : undefined;
    this.#phase = { kind: 'over' };
    this.#context.watchdogs.end();
    const outcome = outcomeOf({ ...this.#context.known, verdict, turn: this.#turn });
    this.#emit({ type: 'ended', outcome: { ...outcome, ...this.#record.logProblem } });
    this.#record.close();
    this.#outcome.resolve({ ...outcome, ...this.#record.logProblem }); // writing the last event may have filled the disk
  }

  #emit(body: EventBody): void {
    this.#record.add(body, this.#turn?.number ?? 0);
  }
}

/** Starts the program and sends it the first prompt; `run.finish()` ends it after its turns. */
export function startAgent(options: AgentOptions): AgentRun & { readonly firstTurn: Turn } {
  const run = new AgentRun(options);
  return Object.assign(run, { firstTurn: run.send(options.prompt) });
}
