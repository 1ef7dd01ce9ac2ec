// One process of an agent program: its lines made sense of by the adapter, prompts put to it, and its last words kept for when it ends
// without an explanation.

import type { Clock } from '../base/clock.js';
import type { ProcessHandle } from '../client/index.js';
import type { Ending, Io } from '../protocol/index.js';
import type { AgentAdapter, LaunchCommand } from './agent-adapter.js';
import type { AdapterEvent } from './agent-event.js';
import { type AgentOptions, defaultEnvPolicy } from './agent-options.js';
import { TerminalEcho } from './terminal-echo.js';

export interface ProcessStart extends Pick<AgentOptions, 'client' | 'adapter' | 'cwd' | 'env' | 'envPolicy' | 'io' | 'labels'> {
  readonly command: LaunchCommand;
  /** Awaited before the program is started. */
  readonly prepare: () => Promise<void>;
  readonly onEvent: (event: AdapterEvent) => void;
  /** Called with every line, whatever it says: the program is alive. */
  readonly onActivity: () => void;
  /** Called when the program has closed its stdout and goes on running: it can say no more. */
  readonly onStdoutEnded: () => void;
}

/** How long a program may take to end. */
export interface Patience {
  readonly clock: Clock;
  /** Without limit when undefined. */
  readonly ms: number | undefined;
  /** Called when it takes longer, just before it is ended. */
  readonly onOver: () => void;
}

/** Agents print pictures and whole files on one line. A longer one comes in pieces, as raw text. */
const maxLineBytes = 64 * 1024 * 1024;

/** As much of a program's last words as tells why it ended. */
const lastWordsChars = 4_096;

/** Wide enough that nothing of a line is folded by programs that look. */
const terminal: Io = { kind: 'pty', rows: 50, cols: 200 };

/** Exists from the moment it is asked for, so that it can be ended while its start is still on its way to the server. */
export class AgentProcess {
  /** Rejects when the program could not be started. */
  readonly started: Promise<ProcessHandle>;
  /** Resolves when everything was read and the tree is gone; with undefined when it did not start. */
  readonly ended: Promise<Ending | undefined>;
  readonly #adapter: AgentAdapter;
  /** Undefined on pipes. */
  readonly #echo: TerminalEcho | undefined;
  #handle: ProcessHandle | undefined;
  #stderrTail = '';
  #textTail = '';

  constructor(start: ProcessStart) {
    this.#adapter = start.adapter;
    this.#echo = start.io === 'pty' ? new TerminalEcho() : undefined;
    this.started = startProgram(start);
    this.ended = this.started.then(
      (handle) => this.#read(handle, start),
      () => undefined, // `started` says why
    );
  }

  /** Of the program, on the machine it runs on; undefined until it has started. */
  get pid(): number | undefined {
    return this.#handle?.pid;
  }

  /** The last it said on stderr, or where it said nothing there, the last text on stdout; for people. */
  get lastWords(): string {
    return this.#stderrTail.trim() === '' ? this.#textTail.trim() : this.#stderrTail.trim();
  }

  /** False when it takes no more input. */
  async writeLine(line: string): Promise<boolean> {
    return (await this.#write(await this.started, `${line}\n`)) === 'accepted';
  }

  /** Writes a prompt; behind the only one that the program takes, its stdin ends. */
  async put(prompt: string): Promise<'accepted' | 'stdinClosed'> {
    // No await when it has started: what is written after this call must come after the prompt.
    const handle = this.#handle ?? (await this.started);
    const text = this.#adapter.encodePrompt(prompt);
    if (this.#adapter.turnsPerProcess === 'many') return this.#write(handle, `${text ?? ''}\n`);
    const status = text === undefined ? 'accepted' : await this.#write(handle, text);
    await this.#endInput(handle);
    return status;
  }

  /** Ends the turn under way where the program can; while it is being started, as soon as it has its prompt. */
  async interrupt(): Promise<void> {
    const handle = await this.started.catch(() => undefined); // nothing to interrupt where nothing could be started
    if (handle === undefined) return;
    const line = this.#adapter.encodeInterrupt?.(crypto.randomUUID());
    if (line === undefined) await handle.signal('SIGINT');
    else await this.#write(handle, `${line}\n`);
  }

  /** Lets it end by the end of its stdin, and ends it when the patience is over. */
  async finish({ clock, ms, onOver }: Patience): Promise<void> {
    const handle = await this.started.catch(() => undefined);
    if (handle !== undefined) await this.#endInput(handle).catch(() => {}); // gone already, or its server is
    const overstays = () => {
      onOver();
      void this.end();
    };
    const impatience = ms === undefined ? undefined : clock.after(ms, overstays);
    await this.ended;
    impatience?.cancel();
  }

  /** Ends it and everything it started, as soon as it has started; resolves when all are gone. */
  async end(): Promise<void> {
    const handle = await this.started.catch(() => undefined);
    await handle?.terminate().catch(() => {}); // gone already, or its server is: `ended` tells
    await this.ended;
  }

  #write(handle: ProcessHandle, text: string): Promise<'accepted' | 'stdinClosed'> {
    this.#echo?.typed(text);
    return handle.write(text);
  }

  /** On a terminal that is a key, shown like every other: where nothing is typed, that is not either. */
  async #endInput(handle: ProcessHandle): Promise<void> {
    if (this.#echo === undefined || this.#adapter.encodePrompt('') !== undefined) await handle.closeStdin();
  }

  async #read(handle: ProcessHandle, { adapter, onEvent, onActivity, onStdoutEnded }: ProcessStart): Promise<Ending> {
    this.#handle = handle;
    void handle.stdoutEnded.then((state) => state === 'running' && onStdoutEnded());
    const reader = adapter.createReader();
    for await (const { stream, text } of handle.lines({ maxLineBytes })) {
      onActivity();
      const line = this.#echo?.strip(text) ?? text;
      if (line === '' && text !== '') continue; // nothing but what was typed
      const from = stream === 'stderr' ? 'stderr' : 'stdout';
      for (const event of reader.read(line, from)) {
        if (event.type === 'raw' && typeof event.line === 'string') this.#keepTail(from, event.line);
        onEvent(event);
      }
    }
    const ending = await handle.closed;
    // What it has left behind, such as the tool of a program that was killed.
    await handle.terminate().catch(() => {});
    return ending;
  }

  #keepTail(from: 'stdout' | 'stderr', line: string): void {
    if (from === 'stderr') this.#stderrTail = `${this.#stderrTail}${line}\n`.slice(-lastWordsChars);
    else this.#textTail = `${this.#textTail}${line}\n`.slice(-lastWordsChars);
  }
}

async function startProgram(start: ProcessStart): Promise<ProcessHandle> {
  const { client, command, cwd, env = {}, envPolicy = defaultEnvPolicy, io = 'pipe', labels = {} } = start;
  await start.prepare();
  const { unset = [] } = command;
  // Colours are for people, and these lines are for a reader.
  const variables = Object.entries({ NO_COLOR: '1', ...env, ...command.env }).filter(([name]) => !unset.includes(name));
  return client.start({
    argv: command.argv,
    cwd,
    env: Object.fromEntries(variables),
    envPolicy: { ...envPolicy, exclude: [...(envPolicy.exclude ?? []), ...unset] },
    io: io === 'pty' ? terminal : { kind: 'pipe', stdin: 'open' },
    ...(Object.keys(labels).length === 0 ? {} : { metadata: { labels } }),
  });
}
