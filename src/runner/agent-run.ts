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
import { Pause } from './pause.js';
import { runIdAt } from './run-log.js';
import { type EventBody, RunRecord } from './run-record.js';
import { treeActivity } from './tree-activity.js';
import { type Usage, usageSince } from './usage.js';
import { Watchdogs } from './watchdogs.js';

/** Until a rate limit of unknown length is tried again. */
const defaultBackoffMs = 5 * 60_000;

/** Where the program ended before the turn did. */
const cutOff = 'processEnded';

export class AgentRun {
  readonly id: string;
  readonly #options: AgentOptions;
  readonly #clock: Clock;
  readonly #record: RunRecord;
  readonly #watchdogs: Watchdogs;
  readonly #limitPause: Pause;
  readonly #outcome = deferred<Outcome>();
  readonly #permissions = new Map<string, Extract<AgentSaid, { type: 'permission' }>>();
  /** Ends when the turns asked for so far have ended. */
  #queue: Promise<unknown> = Promise.resolve();
  #asked = 0;
  /** The turn under way, or the last one. */
  #turn = 0;
  #process: AgentProcess | undefined;
  #pending: Deferred<TurnResult | typeof cutOff> | undefined;
  #resume: string | undefined;
  #known: Known = {};
  #isTurnUnderWay = false;
  /** When the turn under way began. */
  #usageBefore: Usage | undefined;
  #block: { readonly resetsAt: number | undefined } | undefined;
  #verdict: Verdict | undefined;
  #isOver = false;

  /** Use `startAgent`. */
  constructor(options: AgentOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#limitPause = new Pause(this.#clock);
    this.#resume = options.resume;
    const at = this.#clock.now();
    this.id = runIdAt(at);
    const { logDir, adapter, cwd, resume } = options;
    const header = {
      type: 'run',
      runId: this.id,
      adapter: adapter.name,
      cwd,
      ...(resume === undefined ? {} : { resume }),
      at,
    } as const;
    this.#record = new RunRecord(header, { clock: this.#clock, folder: logDir });
    this.#watchdogs = new Watchdogs({
      clock: this.#clock,
      limits: watchdogLimits(options),
      look: async () => (this.#process === undefined ? undefined : treeActivity(options.client, this.#process.handle.pid)),
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
    return this.#isOver || this.#verdict !== undefined;
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
    if (this.isOver) throw new Error('the run is over; another one can resume its session');
    this.#asked += 1;
    const number = this.#asked;
    const events = turnEvents(this.#record.read(this.#record.lastSeq), number);
    const result = this.#queue.then(() => this.#runTurn(number, prompt));
    this.#queue = result.catch(() => {}); // told to whoever asked
    return { number, events, result };
  }

  /** Ends the turn under way; the program goes on where it can. */
  async interrupt(): Promise<void> {
    const { adapter } = this.#options;
    this.#known.wasInterrupted = this.#isTurnUnderWay;
    if (adapter.encodeInterrupt === undefined) await this.#process?.handle.signal('SIGINT');
    else await this.#process?.writeLine(adapter.encodeInterrupt(crypto.randomUUID()));
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
    await this.#queue;
    await this.#process?.finish(this.#clock);
    this.#finish();
    return this.outcome;
  }

  /** Ends the program and everything it started, now. */
  async stop(): Promise<Outcome> {
    await this.#end({ kind: this.#isTurnUnderWay ? 'interrupted' : 'completed' });
    return this.outcome;
  }

  async #end(verdict: Verdict): Promise<void> {
    if (this.#isOver) return;
    this.#verdict ??= verdict;
    this.#limitPause.cut();
    const ending = this.#process;
    await ending?.handle.terminate().catch(() => {}); // gone already, or its server is: its ending tells
    await ending?.ended;
    await this.#queue;
    this.#finish();
  }

  async #runTurn(number: number, prompt: string): Promise<TurnResult> {
    this.#turn = number;
    this.#isTurnUnderWay = true;
    this.#known.wasInterrupted = false;
    this.#usageBefore = this.#known.usage;
    this.#emit({ type: 'turnStarted', prompt });
    const result = await this.#tryUntilDone(prompt);
    this.#isTurnUnderWay = false;
    this.#known.lastTurn = result;
    if (result.reason === cutOff && this.#verdict === undefined) this.#finish();
    return result;
  }

  async #tryUntilDone(prompt: string): Promise<TurnResult> {
    for (;;) {
      const result = this.#verdict === undefined ? await this.#attempt(prompt) : cutOff;
      if (result === cutOff) {
        if (!this.#startsAfresh()) return { isError: true, reason: cutOff, text: '' };
      } else if (!result.isError || !(await this.#isLimitOver())) return result;
    }
  }

  async #attempt(prompt: string): Promise<TurnResult | typeof cutOff> {
    const { adapter } = this.#options;
    const pending = deferred<TurnResult | typeof cutOff>();
    this.#pending = pending;
    this.#block = undefined;
    this.#watchdogs.turnStarted();
    try {
      this.#process ??= await this.#startProcess(prompt);
      const line = adapter.encodePrompt(prompt);
      if (adapter.turnsPerProcess === 'many') await this.#process.writeLine(line ?? '');
      else await this.#process.writeAll(line ?? '');
      const result = await pending.promise;
      if (adapter.turnsPerProcess === 'one') await this.#process?.ended;
      return result;
    } catch (error) {
      if (error instanceof ConnectionClosedError) this.#verdict ??= { kind: 'lost' };
      this.#known.problem = error instanceof Error ? error.message : String(error);
      return cutOff;
    } finally {
      this.#pending = undefined;
      this.#watchdogs.turnEnded();
    }
  }

  async #startProcess(prompt: string): Promise<AgentProcess> {
    const { client, adapter, cwd, args = [], env = {}, envPolicy, io = 'pipe' } = this.#options;
    const started = await AgentProcess.start({
      client,
      adapter,
      command: adapter.command({ prompt, resume: this.#known.sessionId ?? this.#resume, args }),
      cwd,
      env,
      envPolicy,
      io,
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
    if (said.type === 'rateLimit' && said.state === 'block') this.#block = { resetsAt: said.resetsAt };
    if (said.type === 'turnEnded') this.#onTurnEnded({ ...said.result, ...this.#usageOfTurn() });
    else this.#emit(said);
  }

  #onTurnEnded(result: TurnResult): void {
    if (result.isError) this.#known.problem = result.text === '' ? result.reason : result.text;
    // The program has said that there is no such session. It ends, and with it the attempt; nothing was under way.
    if (result.isError && this.#isResumeInVain()) return void this.#process?.handle.closeStdin().catch(() => {});
    if (!(result.isError && this.#isToWait())) this.#emit({ type: 'turnEnded', result }); // the turn goes on when the limit is lifted
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

  #onProcessEnded(ended: AgentProcess, exit: Ending): void {
    this.#process = undefined;
    this.#known.exit = exit;
    if (ended.stderrTail !== '') this.#known.problem ??= ended.stderrTail;
    if (this.#pending !== undefined) this.#pending.resolve(cutOff);
    else if (this.#options.adapter.turnsPerProcess === 'many') this.#finish();
  }

  /** A session is to be gone on with, and the program has not told of it. */
  #isResumeInVain(): boolean {
    return this.#resume !== undefined && this.#known.sessionId === undefined;
  }

  /** A session that could not be resumed, and may be done without. */
  #startsAfresh(): boolean {
    if (!this.#isResumeInVain() || this.#verdict !== undefined || this.#options.ifDead !== 'startFresh') return false;
    this.#emit({ type: 'status', status: `session ${this.#resume} could not be resumed; started afresh` });
    this.#resume = undefined;
    delete this.#known.problem;
    return true;
  }

  /** Waits for a rate limit to be lifted; false when there is none, or the run is not to wait. */
  async #isLimitOver(): Promise<boolean> {
    if (this.#block === undefined || !this.#isToWait()) return false;
    const waitMs = this.#block.resetsAt === undefined ? defaultBackoffMs : this.#block.resetsAt - this.#clock.now();
    this.#emit({ type: 'status', status: `waiting ${Math.ceil(Math.max(waitMs, 0) / 1_000)} s for a rate limit` });
    await this.#limitPause.wait(waitMs);
    return this.#verdict === undefined;
  }

  #isToWait(): boolean {
    return this.#block !== undefined && this.#options.onRateLimit === 'wait' && this.#verdict === undefined;
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watchdogs.end();
    const outcome = outcomeOf({ ...this.#known, verdict: this.#verdict, block: this.#block });
    this.#emit({ type: 'ended', outcome });
    this.#record.close();
    this.#outcome.resolve(outcome);
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
