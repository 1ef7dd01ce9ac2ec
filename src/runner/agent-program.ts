// The program of a run: at most one process at a time, announced before it starts and given time to exit. Knows nothing of turns.

import type { Clock } from '../base/clock.js';
import type { Ending } from '../protocol/index.js';
import type { LaunchCommand } from './agent-adapter.js';
import type { AdapterEvent, EventBody } from './agent-event.js';
import type { AgentOptions } from './agent-options.js';
import { AgentProcess } from './agent-process.js';
import type { Known } from './known.js';
import { priorSessions } from './prior-sessions.js';
import { shownArgv } from './shown-argv.js';
import { type TreeActivity, treeActivity } from './tree-activity.js';

export interface ProgramContext {
  readonly options: AgentOptions;
  readonly clock: Clock;
  /** How long a process may take to exit; no limit when undefined. */
  readonly exitPatienceMs: number | undefined;
  /** Records what is learned about its processes. */
  readonly known: Known;
  readonly emit: (body: EventBody) => void;
  readonly onEvent: (event: AdapterEvent) => void;
  readonly onActivity: () => void;
  /** Called once the process has ended and `process` is undefined. */
  readonly onEnded: () => void;
}

export class AgentProgram {
  readonly #context: ProgramContext;
  #process: AgentProcess | undefined;

  constructor(context: ProgramContext) {
    this.#context = context;
  }

  /** The process that is running or being started. */
  get process(): AgentProcess | undefined {
    return this.#process;
  }

  /** What its processes have done so far; undefined when that cannot be determined. */
  async activity(): Promise<TreeActivity | undefined> {
    const pid = this.#process?.pid;
    return pid === undefined ? undefined : treeActivity(this.#context.options.client, pid);
  }

  /** The current process, or a new one for this prompt. */
  processFor(prompt: string, resume: string | undefined): AgentProcess {
    if (this.#process !== undefined) return this.#process;
    const { options, known, onEvent, onActivity } = this.#context;
    const { adapter, args = [] } = options;
    const command = adapter.command({ prompt, resume, args });
    delete known.hasOverstayed; // it described the previous process
    const started = new AgentProcess({
      ...options,
      ...{ command, onEvent, onActivity },
      prepare: () => this.#announce(command, prompt),
      onStdoutEnded: () => void this.letExit('after closing its stdout'),
    });
    this.#process = started;
    void started.ended.then((exit) => this.#onProcessEnded(started, exit));
    return started;
  }

  /**
   * The program has nothing left to do, or can report nothing more: it may exit on its own within the patience, and is terminated after
   * that.
   */
  async letExit(when: string): Promise<void> {
    const { clock, exitPatienceMs: ms, known } = this.#context;
    const onOver = () => {
      known.hasOverstayed = true;
      known.note = `the program did not exit within ${(ms ?? 0) / 1_000} s ${when}, and was terminated`;
    };
    await this.#process?.finish({ clock, ms, onOver });
  }

  /** Sessions are counted before the first process starts, because that process adds one. */
  async #announce(command: LaunchCommand, prompt: string): Promise<void> {
    const { options, known, emit } = this.#context;
    const argv = shownArgv(command.argv, { prompt, env: { ...options.env, ...command.env } });
    const isFirst = known.exit === undefined;
    const found = isFirst && options.adapter.sessions !== undefined ? await priorSessions(options) : undefined;
    if (found !== undefined) known.priorSessions = found;
    emit({ type: 'launching', argv, ...(found === undefined ? {} : { priorSessions: found }) });
  }

  #onProcessEnded(ended: AgentProcess, exit: Ending | undefined): void {
    const { known, onEnded } = this.#context;
    this.#process = undefined;
    if (exit !== undefined) known.exit = exit;
    known.lastWords = ended.lastWords;
    onEnded();
  }
}
