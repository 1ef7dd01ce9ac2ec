// One process of an agent program: the adapter interprets its lines, prompts are written to it, and its last output is kept to explain an
// unexpected end.

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
  /** Called for every line, known or not, because each one shows that the program is alive. */
  readonly onActivity: () => void;
  /** Called when the program has closed its stdout but keeps running: it can report nothing more. */
  readonly onStdoutEnded: () => void;
}

/** How long a program may take to exit. */
export interface Patience {
  readonly clock: Clock;
  /** No limit when undefined. */
  readonly ms: number | undefined;
  /** Called when the time has run out, just before the program is terminated. */
  readonly onOver: () => void;
}

/** Agents print images and whole files on one line. A longer line is split and passed on as raw text. */
const maxLineBytes = 64 * 1024 * 1024;

/** Enough of a program's last output to show why it ended. */
const lastWordsChars = 4_096;

/** Wide enough that programs which check the width do not wrap their lines. */
const terminal: Io = { kind: 'pty', rows: 50, cols: 200 };

/** Exists as soon as it is requested, so that it can be terminated while its start is still on its way to the server. */
export class AgentProcess {
  /** Rejects when the program cannot be started. */
  readonly started: Promise<ProcessHandle>;
  /** Resolves when all output has been read and the process tree is gone; with undefined when the program did not start. */
  readonly ended: Promise<Ending | undefined>;
  readonly #adapter: AgentAdapter;
  /** Undefined on pipes, which do not echo. */
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
      () => undefined, // `started` rejects with the reason
    );
  }

  /** The program's pid on the machine that it runs on; undefined until it has started. */
  get pid(): number | undefined {
    return this.#handle?.pid;
  }

  /** The end of its stderr or, if that is empty, the last text on its stdout; for people. */
  get lastWords(): string {
    return this.#stderrTail.trim() === '' ? this.#textTail.trim() : this.#stderrTail.trim();
  }

  /** Resolves to false when the program no longer takes input. */
  async writeLine(line: string): Promise<boolean> {
    return (await this.#write(await this.started, `${line}\n`)) === 'accepted';
  }

  /** Writes a prompt; closes stdin after it if the program takes only one. */
  async put(prompt: string): Promise<'accepted' | 'stdinClosed'> {
    // Do not await once the program has started: later writes must follow the prompt.
    const handle = this.#handle ?? (await this.started);
    const text = this.#adapter.encodePrompt(prompt);
    if (this.#adapter.turnsPerProcess === 'many') return this.#write(handle, `${text ?? ''}\n`);
    const status = text === undefined ? 'accepted' : await this.#write(handle, text);
    await this.#endInput(handle);
    return status;
  }

  /** Interrupts the current turn if the program supports that; while it is being started, as soon as it has its prompt. */
  async interrupt(): Promise<void> {
    const handle = await this.started.catch(() => undefined); // nothing to interrupt if it did not start
    if (handle === undefined) return;
    const line = this.#adapter.encodeInterrupt?.(crypto.randomUUID());
    if (line === undefined) await handle.signal('SIGINT');
    else await this.#write(handle, `${line}\n`);
  }

  /** Closes stdin and waits for the program to exit; terminates it when the time has run out. */
  async finish({ clock, ms, onOver }: Patience): Promise<void> {
    const handle = await this.started.catch(() => undefined);
    if (handle !== undefined) await this.#endInput(handle).catch(() => {}); // the process or its server is already gone
    const terminate = () => {
      onOver();
      void this.end();
    };
    const timer = ms === undefined ? undefined : clock.after(ms, terminate);
    await this.ended;
    timer?.cancel();
  }

  /** Terminates the program and everything it started, as soon as it has started; resolves when all of it is gone. */
  async end(): Promise<void> {
    const handle = await this.started.catch(() => undefined);
    await handle?.terminate().catch(() => {}); // the process or its server is already gone: `ended` resolves
    await this.ended;
  }

  #write(handle: ProcessHandle, text: string): Promise<'accepted' | 'stdinClosed'> {
    this.#echo?.typed(text);
    return handle.write(text);
  }

  /** On a terminal, closing stdin types a key, which is echoed. Skip it where nothing else is typed. */
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
      if (line === '' && text !== '') continue; // only an echo
      const from = stream === 'stderr' ? 'stderr' : 'stdout';
      for (const event of reader.read(line, from)) {
        if (event.type === 'raw' && typeof event.line === 'string') this.#keepTail(from, event.line);
        onEvent(event);
      }
    }
    const ending = await handle.closed;
    // Terminate anything it left behind, such as the tool of a program that was killed.
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
  // Colours are for people; these lines are parsed.
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
