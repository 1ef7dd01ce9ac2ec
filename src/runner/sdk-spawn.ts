// A process on a Sluice server, in the shape of the child process that the Claude Agent SDK expects. One line runs an SDK program
// elsewhere: `spawnClaudeCodeProcess: sluiceSpawn(client)`.

import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import type { Client, ProcessHandle } from '../client/index.js';
import type { Ending } from '../protocol/index.js';

/** What the SDK passes in. */
export interface SdkSpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

/** What the SDK expects in return. */
export interface SdkProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly killed: boolean;
  readonly exitCode: number | null;
  readonly signalCode: string | null;
  kill(signal?: string): boolean;
  readonly on: Subscribe;
  readonly once: Subscribe;
  readonly off: Subscribe;
}

export type ExitListener = (code: number | null, signal: string | null) => void;
export type ErrorListener = (error: Error) => void;

/** `on`, `once` and `off` of the process. */
export interface Subscribe {
  (event: 'exit', listener: ExitListener): void;
  (event: 'error', listener: ErrorListener): void;
}

/** The program's stderr goes to `onStderr`, or is discarded. Everything that the program started is terminated with it. */
export function sluiceSpawn(
  client: Client,
  { onStderr = () => {} }: { readonly onStderr?: (bytes: Uint8Array) => void } = {},
): (options: SdkSpawnOptions) => SdkProcess {
  return (options) => new SpawnedProcess(client, options, onStderr);
}

class SpawnedProcess implements SdkProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly #events = new EventEmitter();
  readonly on: Subscribe = (event: string, listener: ExitListener | ErrorListener) => void this.#events.on(event, listener);
  readonly once: Subscribe = (event: string, listener: ExitListener | ErrorListener) => void this.#events.once(event, listener);
  readonly off: Subscribe = (event: string, listener: ExitListener | ErrorListener) => void this.#events.off(event, listener);
  readonly #handle: Promise<ProcessHandle>;
  #killed = false;
  #exitCode: number | null = null;
  #signalCode: string | null = null;

  constructor(client: Client, { command, args, cwd, env, signal }: SdkSpawnOptions, onStderr: (bytes: Uint8Array) => void) {
    const variables = Object.entries(env).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    );
    this.#handle = client.start({
      argv: [command, ...args],
      env: Object.fromEntries(variables),
      envPolicy: { inherit: 'none' }, // the SDK provides the complete environment
      io: { kind: 'pipe', stdin: 'open' },
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.stdin = writableTo(this.#handle);
    this.stdout = Readable.from(stdoutOf(this.#handle, onStderr), { objectMode: false });
    void this.#watch();
    signal?.addEventListener('abort', () => this.kill('SIGTERM'), { once: true });
    if (signal?.aborted === true) this.kill('SIGTERM');
  }

  get killed(): boolean {
    return this.#killed;
  }

  get exitCode(): number | null {
    return this.#exitCode;
  }

  get signalCode(): string | null {
    return this.#signalCode;
  }

  kill(signal = 'SIGTERM'): boolean {
    if (this.#exitCode !== null || this.#signalCode !== null) return false;
    this.#killed = true;
    const send = async (handle: ProcessHandle) =>
      signal === 'SIGTERM' || signal === 'SIGKILL'
        ? handle.terminate(signal === 'SIGKILL' ? { forceAfterMs: 0 } : {})
        : handle.signal(signal);
    this.#handle.then(send).catch(() => {}); // reported by 'exit' or 'error'
    return true;
  }

  async #watch(): Promise<void> {
    try {
      this.#ended(await (await this.#handle).closed);
    } catch (error) {
      if (this.#events.listenerCount('error') > 0) this.#events.emit('error', error);
    }
  }

  #ended(ending: Ending): void {
    if (ending.kind === 'code') this.#exitCode = ending.code;
    // An ending that was not observed must not look like success.
    else if (ending.kind === 'lost') this.#exitCode = -1;
    else this.#signalCode = ending.signal;
    this.#events.emit('exit', this.#exitCode, this.#signalCode);
  }
}

function writableTo(started: Promise<ProcessHandle>): Writable {
  const act = async (action: (handle: ProcessHandle) => Promise<unknown>, done: (error?: Error) => void): Promise<void> => {
    try {
      await action(await started);
    } catch (error) {
      return done(error instanceof Error ? error : new Error(String(error)));
    }
    done();
  };
  return new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void act((handle) => handle.write(chunk), done),
    final: (done) => void act((handle) => handle.closeStdin(), done),
  });
}

async function* stdoutOf(started: Promise<ProcessHandle>, onStderr: (bytes: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  const handle = await started;
  for await (const { stream, bytes } of handle.output) {
    if (stream === 'stdout') yield bytes;
    else onStderr(bytes);
  }
}
