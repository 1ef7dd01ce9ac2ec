// One prompt and its consequences: the program is asked, once more after a rate limit or without its old session, until it has answered
// or nothing more can be tried. Knows nothing of the turns before and after it.

import type { Clock } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';
import { ConnectionClosedError } from '../client/index.js';
import type { EventBody, TurnResult } from './agent-event.js';
import type { AgentOptions } from './agent-options.js';
import type { AgentProcess } from './agent-process.js';
import type { AgentProgram } from './agent-program.js';
import type { Known } from './known.js';
import type { TurnFacts } from './outcome.js';
import { failureOf } from './problem.js';
import { type Block, pause, waitMs } from './rate-limit.js';
import { type Usage, nothingUsed, turnUsage } from './usage.js';
import type { Watchdogs } from './watchdogs.js';

/** The result of a turn that its program did not end. */
export const cutOff: TurnResult = { isError: true, reason: 'processEnded', text: '' };

/** What the turns of a run share. */
export interface TurnContext {
  readonly options: AgentOptions;
  readonly clock: Clock;
  readonly program: AgentProgram;
  readonly watchdogs: Watchdogs;
  readonly known: Known;
  readonly emit: (body: EventBody) => void;
  /** Aborted when the run is being ended: then nothing is tried any more. */
  readonly ending: AbortSignal;
}

type Stage =
  /** Before an attempt, or waiting for a rate limit. */
  | { readonly kind: 'idle' }
  | { readonly kind: 'asking'; readonly answer: Deferred<TurnResult> }
  /** The end of the turn was told; its process may take longer to exit. */
  | { readonly kind: 'answered' };

export class RunningTurn implements TurnFacts {
  readonly number: number;
  isInterrupted = false;
  problem: string | undefined;
  block: Block | undefined;
  readonly #prompt: string;
  readonly #context: TurnContext;
  #stage: Stage = { kind: 'idle' };
  /** What the session had used before; undefined when that is not known, as of a session that was resumed. */
  #usageBefore: Usage | undefined;
  #result = cutOff;

  constructor({ number, prompt }: { readonly number: number; readonly prompt: string }, context: TurnContext) {
    const { usage, resume } = context.known;
    this.number = number;
    this.#prompt = prompt;
    this.#context = context;
    this.#usageBefore = usage ?? (resume === undefined ? nothingUsed : undefined);
  }

  get isAnswered(): boolean {
    return this.#stage.kind === 'answered';
  }

  /** True until it has ended well. */
  get isError(): boolean {
    return this.#result.isError;
  }

  async run(): Promise<TurnResult> {
    const { emit, watchdogs, ending } = this.#context;
    emit({ type: 'turnStarted', prompt: this.#prompt });
    watchdogs.turnStarted();
    do this.#result = ending.aborted ? cutOff : await this.#attempt();
    while (this.#result === cutOff ? this.#retryWithoutResume() : this.isError && (await this.#waitForRateLimit()));
    if (!this.isAnswered) this.#close(this.#result);
    return this.#result;
  }

  /** The program has said that the turn is over. */
  ended(told: TurnResult): void {
    const { known, program, watchdogs } = this.#context;
    const result = { ...told, ...turnUsage(known.usage, this.#usageBefore) };
    const stage = this.#stage;
    if (result.isError) this.problem = failureOf(result);
    // The program has said that there is no such session. It ends, and with it the attempt; nothing was under way.
    if (result.isError && this.#isResumeInVain) return void program.letExit('although it had no session');
    if (result.isError && this.#isToWait) watchdogs.pause(); // the turn goes on when the limit is lifted
    else this.#close(result);
    known.progress = 'started';
    if (stage.kind === 'asking') stage.answer.resolve(result);
  }

  /** False when it did not need its process any more. */
  processEnded(): boolean {
    if (this.#stage.kind === 'asking') this.#stage.answer.resolve(cutOff);
    return this.#stage.kind === 'asking';
  }

  async #attempt(): Promise<TurnResult> {
    const { options, program, known } = this.#context;
    const answer = deferred<TurnResult>();
    this.#stage = { kind: 'asking', answer };
    this.block = undefined;
    try {
      await this.#deliver(program.processFor(this.#prompt, known.sessionId ?? known.resume));
      const result = await answer.promise;
      if (options.adapter.turnsPerProcess === 'one') await program.letExit('after its turn');
      return result;
    } catch (error) {
      if (error instanceof ConnectionClosedError) known.isServerLost = true;
      this.problem = error instanceof Error ? error.message : String(error);
      await program.process?.end(); // without its prompt it would wait for ever
      return cutOff;
    } finally {
      if (!this.isAnswered) this.#stage = { kind: 'idle' };
    }
  }

  /** Rejects when the program could not be started or the prompt could not be written. */
  async #deliver(process: AgentProcess): Promise<void> {
    const { program, known, ending } = this.#context;
    await process.started;
    if (ending.aborted) return; // the program is being ended, and must not begin what it is asked for
    const status = await process.put(this.#prompt).catch((error: unknown) => {
      known.progress = 'started';
      throw error;
    });
    if (status === 'accepted') return;
    // The program is about to end, and may have last words; one that goes on without its stdin can take no turn.
    await program.letExit('after closing its stdin');
    this.problem ??= 'the program has closed its stdin, so the prompt could not be written';
  }

  #close(result: TurnResult): void {
    this.#stage = { kind: 'answered' };
    this.#context.watchdogs.turnEnded();
    this.#context.emit({ type: 'turnEnded', result });
  }

  /** The session to resume was named, and the program has not found it. */
  get #isResumeInVain(): boolean {
    const { sessionId, resume } = this.#context.known;
    return resume !== undefined && sessionId === undefined;
  }

  /** False unless a session could not be resumed, and may be done without. */
  #retryWithoutResume(): boolean {
    const { options, known, emit, ending } = this.#context;
    if (!this.#isResumeInVain || ending.aborted || options.ifDead !== 'startFresh') return false;
    emit({ type: 'status', status: `session ${known.resume} could not be resumed; started afresh` });
    delete known.resume;
    this.#usageBefore = nothingUsed;
    this.problem = undefined;
    return true;
  }

  get #isToWait(): boolean {
    const { options, ending } = this.#context;
    return this.block !== undefined && options.onRateLimit === 'wait' && !ending.aborted;
  }

  /** Waits until the rate limit is lifted; false when there is none, or the run is not to wait. */
  async #waitForRateLimit(): Promise<boolean> {
    const { clock, emit, watchdogs, ending } = this.#context;
    if (this.block === undefined || !this.#isToWait) return false;
    const ms = waitMs(this.block, clock);
    emit({ type: 'status', status: `waiting ${Math.ceil(ms / 1_000)} s for a rate limit` });
    await pause(ms, { clock, signal: ending });
    watchdogs.resume();
    return !ending.aborted;
  }
}
