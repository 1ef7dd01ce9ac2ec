// One prompt and what follows from it: the prompt is resent after a rate limit, or without the session that could not be resumed, until the
// program has answered or nothing is left to try. Knows nothing of other turns.

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

/** The result of a turn whose program ended before answering. */
export const cutOff: TurnResult = { isError: true, reason: 'processEnded', text: '' };

/** Shared by the turns of a run. */
export interface TurnContext {
  readonly options: AgentOptions;
  readonly clock: Clock;
  readonly program: AgentProgram;
  readonly watchdogs: Watchdogs;
  readonly known: Known;
  readonly emit: (body: EventBody) => void;
  /** Aborted when the run is being ended: nothing more is tried then. */
  readonly ending: AbortSignal;
}

type Stage =
  /** Before an attempt, or waiting for a rate limit. */
  | { readonly kind: 'idle' }
  | { readonly kind: 'asking'; readonly answer: Deferred<TurnResult> }
  /** The turn's end has been reported; its process may take longer to exit. */
  | { readonly kind: 'answered' };

export class RunningTurn implements TurnFacts {
  readonly number: number;
  isInterrupted = false;
  problem: string | undefined;
  block: Block | undefined;
  readonly #prompt: string;
  readonly #context: TurnContext;
  #stage: Stage = { kind: 'idle' };
  /** The session's usage before this turn; undefined when it is unknown, as for a resumed session. */
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

  /** True until the turn has succeeded. */
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

  /** The program has reported the end of the turn. */
  ended(reported: TurnResult): void {
    const { known, program, watchdogs } = this.#context;
    const result = { ...reported, ...turnUsage(known.usage, this.#usageBefore) };
    const stage = this.#stage;
    if (result.isError) this.problem = failureOf(result);
    // The program reported that the session does not exist. It exits, which ends the attempt; no work was in progress.
    if (result.isError && this.#isResumeInVain) return void program.letExit('after failing to resume its session');
    if (result.isError && this.#isToWait) watchdogs.pause(); // the turn resumes when the limit is lifted
    else this.#close(result);
    known.progress = 'started';
    if (stage.kind === 'asking') stage.answer.resolve(result);
  }

  /** False when the turn no longer needed its process. */
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
      await program.process?.end(); // without its prompt it would wait forever
      return cutOff;
    } finally {
      if (!this.isAnswered) this.#stage = { kind: 'idle' };
    }
  }

  /** Rejects when the program cannot be started or the prompt cannot be written. */
  async #deliver(process: AgentProcess): Promise<void> {
    const { program, known, ending } = this.#context;
    await process.started;
    if (ending.aborted) return; // the program is being terminated and must not start on this prompt
    const status = await process.put(this.#prompt).catch((error: unknown) => {
      known.progress = 'started';
      throw error;
    });
    if (status === 'accepted') return;
    // The program is probably about to exit, perhaps with an explanation; if it keeps running without stdin, it cannot take a turn.
    await program.letExit('after closing its stdin');
    this.problem ??= 'the program closed its stdin, so the prompt could not be written';
  }

  #close(result: TurnResult): void {
    this.#stage = { kind: 'answered' };
    this.#context.watchdogs.turnEnded();
    this.#context.emit({ type: 'turnEnded', result });
  }

  /** A session to resume was named, but the program has not found it. */
  get #isResumeInVain(): boolean {
    const { sessionId, resume } = this.#context.known;
    return resume !== undefined && sessionId === undefined;
  }

  /** True after a session could not be resumed, if the caller allows starting a new one. */
  #retryWithoutResume(): boolean {
    const { options, known, emit, ending } = this.#context;
    if (!this.#isResumeInVain || ending.aborted || options.ifDead !== 'startFresh') return false;
    emit({ type: 'status', status: `session ${known.resume} could not be resumed; starting a new one` });
    delete known.resume;
    this.#usageBefore = nothingUsed;
    this.problem = undefined;
    return true;
  }

  get #isToWait(): boolean {
    const { options, ending } = this.#context;
    return this.block !== undefined && options.onRateLimit === 'wait' && !ending.aborted;
  }

  /** Waits until the rate limit is lifted; false when there is none, or the run must not wait. */
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
