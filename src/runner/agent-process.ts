// One process of an agent program: its lines made sense of by the adapter, prompts put to it, and the end of its stderr kept for when
// it ends without an explanation.

import type { Clock } from '../base/clock.js';
import type { Client, ProcessHandle } from '../client/index.js';
import type { Ending, EnvPolicy, Io } from '../protocol/index.js';
import type { AgentAdapter, LaunchCommand } from './agent-adapter.js';
import type { AgentSaid } from './agent-event.js';

export interface ProcessStart {
  readonly client: Client;
  readonly adapter: AgentAdapter;
  readonly command: LaunchCommand;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly envPolicy: EnvPolicy | undefined;
  readonly io: 'pipe' | 'pty';
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

export class AgentProcess {
  readonly handle: ProcessHandle;
  /** Resolves when everything was read and the tree is gone. */
  readonly ended: Promise<Ending>;
  #stderrTail = '';

  private constructor(handle: ProcessHandle, start: ProcessStart) {
    this.handle = handle;
    this.ended = this.#read(start);
  }

  static async start(start: ProcessStart): Promise<AgentProcess> {
    const { client, command, cwd, env, envPolicy, io } = start;
    const { unset = [] } = command;
    const variables = Object.entries({ ...env, ...command.env }).filter(([name]) => !unset.includes(name));
    const policy =
      envPolicy === undefined ? {} : { envPolicy: { ...envPolicy, exclude: [...(envPolicy.exclude ?? []), ...unset] } };
    const handle = await client.start({
      argv: command.argv,
      cwd,
      env: Object.fromEntries(variables),
      ...policy,
      io: io === 'pty' ? terminal : { kind: 'pipe', stdin: 'open' },
    });
    return new AgentProcess(handle, start);
  }

  /** The last thing it said on stderr, for people. */
  get stderrTail(): string {
    return this.#stderrTail.trim();
  }

  /** False when it takes no more input. */
  async writeLine(line: string): Promise<boolean> {
    return (await this.handle.write(`${line}\n`)) === 'accepted';
  }

  /** All there is to be read, and its end. */
  async writeAll(text: string): Promise<void> {
    if (text !== '') await this.handle.write(text);
    await this.handle.closeStdin();
  }

  /** Lets it end by the end of its stdin; ends it when that takes too long. */
  async finish(clock: Clock): Promise<void> {
    const ending = () => void this.handle.terminate().catch(() => {}); // gone already, or its server is
    await this.handle.closeStdin().catch(() => {}); // the same
    const impatience = clock.after(endPatienceMs, ending);
    await this.ended;
    impatience.cancel();
  }

  async #read({ adapter, onSaid, onActivity }: ProcessStart): Promise<Ending> {
    const reader = adapter.createReader();
    for await (const { stream, text } of this.handle.lines({ maxLineBytes })) {
      onActivity();
      const isStderr = stream === 'stderr';
      if (isStderr) this.#stderrTail = `${this.#stderrTail}${text}\n`.slice(-stderrTailChars);
      for (const said of reader.read(text, isStderr ? 'stderr' : 'stdout')) onSaid(said);
    }
    const ending = await this.handle.closed;
    // What it has left behind, such as the tool of a program that was killed.
    await this.handle.terminate().catch(() => {});
    return ending;
  }
}
