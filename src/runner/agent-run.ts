// A run: prompts in, typed events out, one honest outcome. Turns go one after another, on one process or on one each, as the
// program has it.

import { type Clock, systemClock } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';
import { ConnectionClosedError } from '../client/index.js';
import type { Ending } from '../protocol/index.js';
import type { PermissionAnswer } from './agent-adapter.js';
import type { AgentSaid, TurnResult } from './agent-event.js';
import { type AgentOptions, type Turn, watchdogLimits } from './agent-options.js';
import { AgentProcess } from './agent-process.js';
import { type SeenEvent, turnEvents } from './event-log.js';
import { type Known, type Outcome, type Verdict, outcomeOf } from './outcome.js';
import { RateLimit } from './rate-limit.js';
import { runHeader } from './run-log.js';
import { type EventBody, RunRecord } from './run-record.js';
import { treeActivity } from './tree-activity.js';
import { TurnQueue } from './turn-queue.js';
import { type Usage, usageSince } from './usage.js';
import { Watchdogs } from './watchdogs.js';

/** Where the program ended before the turn did. */
const cutOff = 'processEnded';

/** Only `open` takes prompts; `finishing` runs the turns asked for; `ending` begins no other turn; with `over` comes the outcome. */
type Phase = 'open' | 'finishing' | 'ending' | 'over';

export class AgentRun {
  readonly id: string;
  readonly #options: AgentOptions;
  readonly #clock: Clock;
  readonly #record: RunRecord;
  readonly #watchdogs: Watchdogs;
  readonly #rateLimit: RateLimit;
  readonly #outcome = deferred<Outcome>();
  readonly #permissions = new Map<string, Extract<AgentSaid, { type: 'permission' }>>();
  readonly #turns = new TurnQueue();
  /** The turn under way, or the last one. */
  #turn = 0;
  #phase: Phase = 'open';
  #process: AgentProcess | undefined;
  #pending: Deferred<TurnResult | typeof cutOff> | undefined;
  #resume: string | undefined;
  #known: Known = {};
  /** When the turn under way began. */
  #usageBefore: Usage | undefined;
  #verdict: Verdict | undefined;

  /** Use `startAgent`. */
  constructor(options: AgentOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#rateLimit = new RateLimit(this.#clock, options.onRateLimit ?? 'end');
    this.#resume = options.resume;
    const header = runHeader(options, this.#clock.now());
    this.id = header.runId;
    this.#record = new RunRecord(header, { clock: this.#clock, folder: options.logDir });
    this.#watchdogs = new Watchdogs({
      clock: this.#clock,
      limits: watchdogLimits(options),
      look: async () => (this.#process?.pid === undefined ? undefined : treeActivity(options.client, this.#process.pid)),
      expired: (watchdog) => void this.#end({ kind: watchdog === 'idle' ? 'idleTimedOut' : 'timedOut', watchdog }),
    });
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
    await this.#process?.interrupt();
  }

  /** Answers a permission request; false when none of that id waits for an answer. */
  async answer(requestId: string, answer: PermissionAnswer): Promise<boolean> {
    const request = this.#permissions.get(requestId);
    const line = request === undefined ? undefined : this.#options.adapter.encodePermission?.(request, answer);
    if (line === undefined || this.#process === undefined) return false;
    this.#permissions.delete(requestId);
    return this.#process.writeLine(line);
  }

  /** No more prompts: the program is left to end once the turns asked for have ended. */
  async finish(): Promise<Outcome> {
    if (this.#phase === 'open') this.#phase = 'finishing';
    await this.#turns.drained;
    await this.#process?.finish(this.#clock);
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
    await this.#process?.end();
    await this.#turns.drained;
    this.#conclude();
  }

  get #isEnding(): boolean {
    return this.#phase === 'ending' || this.#phase === 'over';
  }

  async #runTurn(number: number, prompt: string): Promise<TurnResult> {
    const result = this.#isEnding ? cutOff : await this.#begin(number, prompt);
    if (result !== cutOff) return result;
    void this.#end(undefined);
    return { isError: true, reason: cutOff, text: '' };
  }

  async #begin(number: number, prompt: string): Promise<TurnResult | typeof cutOff> {
    this.#turn = number;
    this.#known.wasInterrupted = false;
    this.#usageBefore = this.#known.usage;
    this.#emit({ type: 'turnStarted', prompt });
    const result = await this.#tryUntilDone(prompt);
    this.#known.lastTurn = { isError: result === cutOff || result.isError };
    return result;
  }

  async #tryUntilDone(prompt: string): Promise<TurnResult | typeof cutOff> {
    for (;;) {
      const result = this.#isEnding ? cutOff : await this.#attempt(prompt);
      const isTriedAgain = result === cutOff ? this.#startsAfresh() : result.isError && (await this.#isLimitOver());
      if (!isTriedAgain) return result;
    }
  }

  async #attempt(prompt: string): Promise<TurnResult | typeof cutOff> {
    const pending = deferred<TurnResult | typeof cutOff>();
    this.#pending = pending;
    this.#rateLimit.clear();
    this.#watchdogs.turnStarted();
    try {
      this.#process ??= this.#startProcess(prompt);
      await this.#deliver(prompt, this.#process);
      const result = await pending.promise;
      if (this.#options.adapter.turnsPerProcess === 'one') await this.#process?.ended;
      return result;
    } catch (error) {
      if (error instanceof ConnectionClosedError) this.#known.isServerLost = true;
      this.#known.problem = error instanceof Error ? error.message : String(error);
      await this.#process?.end(); // without its prompt it would wait for ever
      return cutOff;
    } finally {
      this.#pending = undefined;
      this.#watchdogs.turnEnded();
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
    await process.finish(this.#clock);
    this.#known.problem ??= 'the program has closed its stdin, so the prompt could not be written';
  }

  #startProcess(prompt: string): AgentProcess {
    const { adapter, args = [] } = this.#options;
    const started = new AgentProcess({
      ...this.#options,
      command: adapter.command({ prompt, resume: this.#known.sessionId ?? this.#resume, args }),
      onSaid: (said) => this.#onSaid(said),
      onActivity: () => this.#watchdogs.output(),
    });
    void started.ended.then((exit) => this.#onProcessEnded(started, exit));
    return started;
  }

  #onSaid(said: AgentSaid): void {
    if (said.type === 'session') this.#known.sessionId = said.sessionId;
    if (said.type === 'usage') this.#known.usage = said.usage;
    if (said.type === 'permission') this.#permissions.set(said.requestId, said);
    if (said.type === 'retry') this.#known.problem = said.problem;
    if (said.type === 'rateLimit' && said.state === 'block') this.#rateLimit.blocked({ resetsAt: said.resetsAt });
    if (said.type === 'turnEnded') this.#onTurnEnded({ ...said.result, ...this.#usageOfTurn() });
    else this.#emit(said);
  }

  #onTurnEnded(result: TurnResult): void {
    if (result.isError) this.#known.problem = result.text === '' ? result.reason : result.text;
    // The program has said that there is no such session. It ends, and with it the attempt; nothing was under way.
    if (result.isError && this.#isResumeInVain()) return void this.#process?.finish(this.#clock);
    if (!(result.isError && this.#rateLimit.isToWait)) this.#emit({ type: 'turnEnded', result }); // the turn goes on when the limit is lifted
    this.#known.hasAnswered = true;
    this.#permissions.clear(); // nobody waits for an answer any more
    this.#pending?.resolve(result);
  }

  /** A resumed session comes with totals of its past, so its first turn cannot be told from that. */
  #usageOfTurn(): { readonly usage?: Usage } {
    const { usage } = this.#known;
    const isPastUnknown = this.#usageBefore === undefined && this.#resume !== undefined;
    return usage === undefined || isPastUnknown ? {} : { usage: usageSince(usage, this.#usageBefore) };
  }

  #onProcessEnded(ended: AgentProcess, exit: Ending | undefined): void {
    this.#process = undefined;
    if (exit !== undefined) this.#known.exit = exit;
    if (ended.stderrTail !== '') this.#known.problem ??= ended.stderrTail;
    if (this.#pending !== undefined) this.#pending.resolve(cutOff);
    else if (this.#options.adapter.turnsPerProcess === 'many') void this.#end(undefined);
  }

  /** A session is to be gone on with, and the program has not told of it. */
  #isResumeInVain(): boolean {
    return this.#resume !== undefined && this.#known.sessionId === undefined;
  }

  /** A session that could not be resumed, and may be done without. */
  #startsAfresh(): boolean {
    if (!this.#isResumeInVain() || this.#isEnding || this.#options.ifDead !== 'startFresh') return false;
    this.#emit({ type: 'status', status: `session ${this.#resume} could not be resumed; started afresh` });
    this.#resume = undefined;
    delete this.#known.problem;
    return true;
  }

  /** Waits for a rate limit to be lifted; false when there is none, or the run is not to wait. */
  async #isLimitOver(): Promise<boolean> {
    if (!this.#rateLimit.isToWait) return false;
    this.#emit({ type: 'status', status: `waiting ${Math.ceil(this.#rateLimit.waitMs / 1_000)} s for a rate limit` });
    await this.#rateLimit.wait();
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
