// A run: prompts in, typed events out, one honest outcome. Turns go one after another, on one process or on one each, as the
// program has it.

import { systemClock } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';
import { ConnectionClosedError } from '../client/index.js';
import type { PermissionAnswer } from './agent-adapter.js';
import type { AdapterEvent, EventBody, TurnResult } from './agent-event.js';
import { type AgentOptions, type Turn, checkLabels, runLimits } from './agent-options.js';
import type { AgentProcess } from './agent-process.js';
import { AgentProgram } from './agent-program.js';
import { type SeenEvent, turnEvents } from './event-log.js';
import { type Known, learn } from './known.js';
import { type Outcome, type Verdict, outcomeOf } from './outcome.js';
import { PermissionRequests } from './permission-requests.js';
import { failureOf } from './problem.js';
import { RateLimit } from './rate-limit.js';
import { runHeader } from './run-log.js';
import { RunRecord } from './run-record.js';
import { TurnQueue } from './turn-queue.js';
import { type Usage, nothingUsed, turnUsage } from './usage.js';
import { Watchdogs } from './watchdogs.js';

/** The result of a turn that its program did not end. */
const cutOff: TurnResult = { isError: true, reason: 'processEnded', text: '' };

/** Only `open` takes prompts; `finishing` runs the turns asked for; `ending` begins no other turn; with `over` comes the outcome. */
type Phase = 'open' | 'finishing' | 'ending' | 'over';

export class AgentRun {
  readonly id: string;
  readonly #options: AgentOptions;
  readonly #program: AgentProgram;
  readonly #record: RunRecord;
  readonly #watchdogs: Watchdogs;
  readonly #rateLimit: RateLimit;
  readonly #outcome = deferred<Outcome>();
  readonly #permissions: PermissionRequests;
  readonly #turns = new TurnQueue();
  /** The turn under way, or the last one. */
  #turn = 0;
  #phase: Phase = 'open';
  #pending: Deferred<TurnResult> | undefined;
  #resume: string | undefined;
  readonly #known: Known = {};
  /** When the turn under way began; undefined when that is not known, as of a session that was resumed. */
  #usageBefore: Usage | undefined;
  #verdict: Verdict | undefined;

  /** Use `startAgent`. */
  constructor(options: AgentOptions) {
    const { adapter, io, labels = {}, clock = systemClock } = options;
    checkLabels(labels);
    this.#options = io === 'pty' ? { ...options, adapter: adapter.onTerminal ?? adapter } : options;
    const limits = runLimits(options);
    this.#rateLimit = new RateLimit(clock, options.onRateLimit ?? 'end');
    this.#resume = options.resume;
    const header = runHeader(options, clock.now());
    this.id = header.runId;
    this.#record = new RunRecord(header, { clock, folder: options.logDir });
    this.#watchdogs = new Watchdogs({
      clock,
      limits,
      look: () => this.#program.activity(),
      expired: (watchdog, limitMs) =>
        void this.#end({ kind: watchdog === 'idle' ? 'idleTimedOut' : 'timedOut', watchdog, limitMs }),
    });
    this.#program = new AgentProgram({
      ...{ options: this.#options, clock, exitPatienceMs: limits.exitPatienceMs, known: this.#known },
      emit: (body) => this.#emit(body),
      onEvent: (said) => this.#onEvent(said),
      onActivity: () => this.#watchdogs.output(),
      onEnded: () => this.#onProcessEnded(),
    });
    // A program that waits for its caller is not idle, and its turn takes no longer for that.
    this.#permissions = new PermissionRequests((isWaiting) => this.#watchdogs[isWaiting ? 'pause' : 'resume']());
  }

  /** Every event from the first one on, for any number of readers. */
  get events(): AsyncIterable<SeenEvent> {
    return this.#record.read();
  }

  get outcome(): Promise<Outcome> {
    return this.#outcome.promise;
  }

  /** It takes no more prompts. */
  get isOver(): boolean {
    return this.#phase !== 'open';
  }

  /** Undefined until the program has told it. */
  get sessionId(): string | undefined {
    return this.#known.sessionId;
  }

  /** The file with every event; undefined without a folder for it. */
  get logFile(): string | undefined {
    return this.#record.file;
  }

  /** Puts a prompt to the program once the turns before have ended. */
  send(prompt: string): Turn {
    if (prompt.trim() === '') throw new Error('the prompt must not be empty, also when a session is resumed');
    if (this.#phase === 'finishing') throw new Error('the run was told to finish and takes no more prompts');
    if (this.isOver) throw new Error('the run is over; another one can resume its session');
    const { lastSeq } = this.#record;
    const { number, result } = this.#turns.add((turn) => this.#runTurn(turn, prompt));
    return { number, result, events: turnEvents(this.#record.read(lastSeq), number) };
  }

  /** Ends the turn under way; the program goes on where it can. */
  async interrupt(): Promise<void> {
    this.#known.wasInterrupted = this.#turns.isBusy;
    await this.#program.process?.interrupt();
  }

  /** Answers a permission request; false when none of that id waits for an answer. */
  async answer(requestId: string, answer: PermissionAnswer): Promise<boolean> {
    const request = this.#permissions.get(requestId);
    const line = request === undefined ? undefined : this.#options.adapter.encodePermission?.(request, answer);
    if (line === undefined || this.#program.process === undefined) return false;
    this.#permissions.delete(requestId);
    return this.#program.process.writeLine(line);
  }

  /** No more prompts: the program is left to end once the turns asked for have ended. */
  async finish(): Promise<Outcome> {
    if (this.#phase === 'open') this.#phase = 'finishing';
    await this.#turns.drained;
    await this.#program.letExit('after its last turn');
    this.#conclude();
    return this.outcome;
  }

  /** Ends the program and everything it started, now; one that is still being started, as soon as it has. */
  async stop(): Promise<Outcome> {
    await this.#end({ kind: this.#turns.isBusy ? 'interrupted' : 'stoppedBetweenTurns' });
    return this.outcome;
  }

  /** The first reason to end counts; undefined when the program has ended by itself. */
  async #end(verdict: Verdict | undefined): Promise<void> {
    if (this.#phase === 'open' || this.#phase === 'finishing') {
      this.#phase = 'ending';
      this.#verdict = verdict;
    }
    this.#rateLimit.cut();
    await this.#program.process?.end();
    await this.#turns.drained;
    this.#conclude();
  }

  get #isEnding(): boolean {
    return this.#phase === 'ending' || this.#phase === 'over';
  }

  async #runTurn(number: number, prompt: string): Promise<TurnResult> {
    const result = this.#isEnding ? cutOff : await this.#begin(number, prompt);
    if (result === cutOff) void this.#end(undefined);
    return result;
  }

  async #begin(number: number, prompt: string): Promise<TurnResult> {
    this.#turn = number;
    this.#known.wasInterrupted = false;
    delete this.#known.problem; // of the turn before
    this.#usageBefore = this.#known.usage ?? (this.#resume === undefined ? nothingUsed : undefined);
    this.#emit({ type: 'turnStarted', prompt });
    this.#watchdogs.turnStarted();
    const result = await this.#tryUntilDone(prompt);
    if (!this.#turns.isAnswered(number)) this.#closeTurn(result);
    this.#known.lastTurn = { isError: result.isError };
    return result;
  }

  async #tryUntilDone(prompt: string): Promise<TurnResult> {
    for (;;) {
      const result = this.#isEnding ? cutOff : await this.#attempt(prompt);
      const isTriedAgain = result === cutOff ? this.#retryWithoutResume() : result.isError && (await this.#waitForRateLimit());
      if (!isTriedAgain) return result;
    }
  }

  async #attempt(prompt: string): Promise<TurnResult> {
    const pending = deferred<TurnResult>();
    this.#pending = pending;
    this.#rateLimit.clear();
    try {
      const process = this.#program.processFor(prompt, this.#known.sessionId ?? this.#resume);
      await this.#deliver(prompt, process);
      const result = await pending.promise;
      if (this.#options.adapter.turnsPerProcess === 'one') await this.#program.letExit('after its turn');
      return result;
    } catch (error) {
      if (error instanceof ConnectionClosedError) this.#known.isServerLost = true;
      this.#known.problem = error instanceof Error ? error.message : String(error);
      await this.#program.process?.end(); // without its prompt it would wait for ever
      return cutOff;
    } finally {
      this.#pending = undefined;
    }
  }

  /** Rejects when the program could not be started or the prompt could not be written. */
  async #deliver(prompt: string, process: AgentProcess): Promise<void> {
    await process.started;
    if (this.#isEnding) return; // the program is being ended, and must not begin what it is asked for
    const status = await process.put(prompt).catch((error: unknown) => {
      this.#known.isPromptUndelivered = true;
      throw error;
    });
    if (status === 'accepted') return;
    // The program is about to end, and may have last words; one that goes on without its stdin can take no turn.
    await this.#program.letExit('after closing its stdin');
    this.#known.problem ??= 'the program has closed its stdin, so the prompt could not be written';
  }

  #onEvent(said: AdapterEvent): void {
    learn(this.#known, said);
    // One that cannot be answered is not waited for.
    if (said.type === 'permission' && this.#options.adapter.encodePermission !== undefined) this.#permissions.add(said);
    if (said.type === 'permissionWithdrawn') this.#permissions.delete(said.requestId);
    if (said.type === 'rateLimit' && said.state === 'block') this.#rateLimit.blocked({ resetsAt: said.resetsAt });
    if (said.type === 'turnEnded') this.#onTurnEnded({ ...said.result, ...turnUsage(this.#known.usage, this.#usageBefore) });
    else this.#emit(said);
  }

  #onTurnEnded(result: TurnResult): void {
    if (result.isError) this.#known.problem = failureOf(result);
    this.#permissions.clear(); // nothing waits for an answer any more
    // The program has said that there is no such session. It ends, and with it the attempt; nothing was under way.
    if (result.isError && this.#isResumeInVain()) return void this.#program.letExit('although it had no session');
    if (result.isError && this.#rateLimit.isToWait) this.#watchdogs.pause(); // the turn goes on when the limit is lifted
    else this.#closeTurn(result);
    this.#known.hasAnswered = true;
    this.#pending?.resolve(result);
  }

  #closeTurn(result: TurnResult): void {
    this.#turns.answered(this.#turn);
    this.#watchdogs.turnEnded();
    this.#emit({ type: 'turnEnded', result });
  }

  #onProcessEnded(): void {
    this.#permissions.clear();
    if (this.#pending !== undefined) this.#pending.resolve(cutOff);
    else if (this.#options.adapter.turnsPerProcess === 'many') void this.#end(undefined);
  }

  /** A session is to be gone on with, and the program has not told of it. */
  #isResumeInVain(): boolean {
    return this.#resume !== undefined && this.#known.sessionId === undefined;
  }

  /** A session that could not be resumed, and may be done without. */
  #retryWithoutResume(): boolean {
    if (!this.#isResumeInVain() || this.#isEnding || this.#options.ifDead !== 'startFresh') return false;
    this.#emit({ type: 'status', status: `session ${this.#resume} could not be resumed; started afresh` });
    this.#resume = undefined;
    this.#usageBefore = nothingUsed;
    delete this.#known.problem;
    return true;
  }

  /** Waits for a rate limit to be lifted; false when there is none, or the run is not to wait. */
  async #waitForRateLimit(): Promise<boolean> {
    if (!this.#rateLimit.isToWait) return false;
    this.#emit({ type: 'status', status: `waiting ${Math.ceil(this.#rateLimit.waitMs / 1_000)} s for a rate limit` });
    await this.#rateLimit.wait();
    this.#watchdogs.resume();
    return !this.#isEnding;
  }

  #conclude(): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#watchdogs.end();
    const outcome = outcomeOf({ ...this.#known, verdict: this.#verdict, block: this.#rateLimit.block });
    this.#emit({ type: 'ended', outcome: { ...outcome, ...this.#record.logProblem } });
    this.#record.close();
    this.#outcome.resolve({ ...outcome, ...this.#record.logProblem }); // the last event may be the one without room
  }

  #emit(body: EventBody): void {
    this.#record.add(body, this.#turn);
  }
}

/** Starts the program and puts the first prompt to it; `run.finish()` ends it after its turns. */
export function startAgent(options: AgentOptions): AgentRun & { readonly firstTurn: Turn } {
  const run = new AgentRun(options);
  return Object.assign(run, { firstTurn: run.send(options.prompt) });
}
