// The program of a run: one process of it at a time, announced before it starts and given time to exit. Knows nothing of turns.

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
  /** How long a process may take to exit; without limit when undefined. */
  readonly exitPatienceMs: number | undefined;
  /** What is learned of its processes is noted here. */
  readonly known: Known;
  readonly emit: (body: EventBody) => void;
  readonly onEvent: (event: AdapterEvent) => void;
  readonly onActivity: () => void;
  /** The process has ended, and `process` is undefined. */
  readonly onEnded: () => void;
}

export class AgentProgram {
  readonly #context: ProgramContext;
  #process: AgentProcess | undefined;

  constructor(context: ProgramContext) {
    this.#context = context;
  }

  /** The one that runs or is being started. */
  get process(): AgentProcess | undefined {
    return this.#process;
  }

  /** What its processes have done so far; undefined when that cannot be found out. */
  async activity(): Promise<TreeActivity | undefined> {
    const pid = this.#process?.pid;
    return pid === undefined ? undefined : treeActivity(this.#context.options.client, pid);
  }

  /** The process there is, or a new one for this prompt. */
  processFor(prompt: string, resume: string | undefined): AgentProcess {
    if (this.#process !== undefined) return this.#process;
    const { options, known, onEvent, onActivity } = this.#context;
    const { adapter, args = [] } = options;
    const command = adapter.command({ prompt, resume, args });
    delete known.hasOverstayed; // the process before
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

  /** It has nothing more to do, or can say no more: it may exit by itself within the patience, and is ended then. */
  async letExit(when: string): Promise<void> {
    const { clock, exitPatienceMs: ms, known } = this.#context;
    const onOver = () => {
      known.hasOverstayed = true;
      known.note = `the program did not exit within ${(ms ?? 0) / 1_000} s ${when}, and was ended`;
    };
    await this.#process?.finish({ clock, ms, onOver });
  }

  /** Sessions are counted before the first process, which would add its own. */
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
