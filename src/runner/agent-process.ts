// One process of an agent program: its lines made sense of by the adapter, prompts put to it, and the end of its stderr kept for when
// it ends without an explanation.

import type { Clock } from '../base/clock.js';
import type { ProcessHandle } from '../client/index.js';
import type { Ending, Io } from '../protocol/index.js';
import type { AgentAdapter, LaunchCommand } from './agent-adapter.js';
import type { AgentSaid } from './agent-event.js';
import type { AgentOptions } from './agent-options.js';

export interface ProcessStart extends Pick<AgentOptions, 'client' | 'adapter' | 'cwd' | 'env' | 'envPolicy' | 'io'> {
  readonly command: LaunchCommand;
  readonly onSaid: (said: AgentSaid) => void;
  /** Called with every line, whatever it says: the program is alive. */
  readonly onActivity: () => void;
}

/** Agents print pictures and whole files on one line. A longer one comes in pieces, as raw text. */
const maxLineBytes = 64 * 1024 * 1024;

/** Patience for a program that was asked to end by the end of its stdin: it may have last words to write. */
const endPatienceMs = 5_000;

/** As much of stderr as tells why a program ended. */
const stderrTailChars = 4_096;

/** Wide enough that nothing of a line is folded by programs that look. */
const terminal: Io = { kind: 'pty', rows: 50, cols: 200 };

/** Exists from the moment it is asked for, so that it can be ended while its start is still on its way to the server. */
export class AgentProcess {
  /** Rejects when the program could not be started. */
  readonly started: Promise<ProcessHandle>;
  /** Resolves when everything was read and the tree is gone; with undefined when it did not start. */
  readonly ended: Promise<Ending | undefined>;
  readonly #adapter: AgentAdapter;
  #handle: ProcessHandle | undefined;
  #stderrTail = '';

  constructor(start: ProcessStart) {
    this.#adapter = start.adapter;
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

  /** The last thing it said on stderr, for people. */
  get stderrTail(): string {
    return this.#stderrTail.trim();
  }

  /** False when it takes no more input. */
  async writeLine(line: string): Promise<boolean> {
    const handle = await this.started;
    return (await handle.write(`${line}\n`)) === 'accepted';
  }

  /** Writes a prompt; behind the only one that the program takes, its stdin ends. */
  async put(prompt: string): Promise<'accepted' | 'stdinClosed'> {
    // No await when it has started: what is written after this call must come after the prompt.
    const handle = this.#handle ?? (await this.started);
    const text = this.#adapter.encodePrompt(prompt) ?? '';
    if (this.#adapter.turnsPerProcess === 'many') return handle.write(`${text}\n`);
    const status = text === '' ? 'accepted' : await handle.write(text);
    await handle.closeStdin();
    return status;
  }

  /** Ends the turn under way where the program can; while it is being started, as soon as it has its prompt. */
  async interrupt(): Promise<void> {
    const handle = await this.started.catch(() => undefined); // nothing to interrupt where nothing could be started
    const line = this.#adapter.encodeInterrupt?.(crypto.randomUUID());
    if (line === undefined) await handle?.signal('SIGINT');
    else await handle?.write(`${line}\n`);
  }

  /** Lets it end by the end of its stdin; ends it when that takes too long. */
  async finish(clock: Clock): Promise<void> {
    const handle = await this.started.catch(() => undefined);
    await handle?.closeStdin().catch(() => {}); // gone already, or its server is
    const impatience = clock.after(endPatienceMs, () => void this.end());
    await this.ended;
    impatience.cancel();
  }

  /** Ends it and everything it started, as soon as it has started; resolves when all are gone. */
  async end(): Promise<void> {
    const handle = await this.started.catch(() => undefined);
    await handle?.terminate().catch(() => {}); // gone already, or its server is: `ended` tells
    await this.ended;
  }

  async #read(handle: ProcessHandle, { adapter, onSaid, onActivity }: ProcessStart): Promise<Ending> {
    this.#handle = handle;
    const reader = adapter.createReader();
    for await (const { stream, text } of handle.lines({ maxLineBytes })) {
      onActivity();
      const isStderr = stream === 'stderr';
      if (isStderr) this.#stderrTail = `${this.#stderrTail}${text}\n`.slice(-stderrTailChars);
      for (const said of reader.read(text, isStderr ? 'stderr' : 'stdout')) onSaid(said);
    }
    const ending = await handle.closed;
    // What it has left behind, such as the tool of a program that was killed.
    await handle.terminate().catch(() => {});
    return ending;
  }
}

function startProgram({
  client,
  command,
  cwd,
  env = {},
  envPolicy = { inherit: 'core' },
  io = 'pipe',
}: ProcessStart): Promise<ProcessHandle> {
  const { unset = [] } = command;
  const variables = Object.entries({ ...env, ...command.env }).filter(([name]) => !unset.includes(name));
  return client.start({
    argv: command.argv,
    cwd,
    env: Object.fromEntries(variables),
    envPolicy: { ...envPolicy, exclude: [...(envPolicy.exclude ?? []), ...unset] },
    io: io === 'pty' ? terminal : { kind: 'pipe', stdin: 'open' },
  });
}
