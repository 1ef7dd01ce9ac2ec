// The built program as scripts and people use it: on pipes, in a real terminal, with its own background server.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, type ProcessHandle, connectInProcess } from '#src/index.js';
import { program } from './sluice-server.js';

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** Runs the program on pipes to its end. */
export async function sluice(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { status, stdout, stderr } = await sluiceBytes(args, options);
  return { status, stdout: stdout.toString(), stderr };
}

export async function sluiceBytes(args: readonly string[], { input = '', env, cwd }: RunOptions = {}) {
  const child = startSluice(args, { ...(env === undefined ? {} : { env }), ...(cwd === undefined ? {} : { cwd }) });
  child.stdin.on('error', () => {}); // a command need not read its stdin
  child.stdin.end(input);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() };
}

/** Starts the program on pipes. The caller waits for its end. */
export function startSluice(args: readonly string[], { env, cwd }: Omit<RunOptions, 'input'> = {}) {
  return spawn(process.execPath, ['--', program, ...args], {
    stdio: 'pipe',
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
}

/** Collects pieces as they arrive; complete once the program has closed the stream. */
export function collect(stream: NodeJS.ReadableStream): Buffer[] {
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  return pieces;
}

export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const [status] = (await once(child, 'exit')) as [number | null];
  return status;
}

/** A folder for a background server that only this test uses. Stops the server when disposed. */
export class Background implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  readonly env = { XDG_RUNTIME_DIR: this.folder, SLUICE_URL: undefined, SLUICE_TOKEN: undefined };

  run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    return sluice(args, { ...options, env: { ...this.env, ...options.env } });
  }

  /** Runs it, and fails unless it succeeds with an empty stderr. */
  async good(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(args, options);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' }, args.join(' '));
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run(['serve', '--stop']);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A program in a terminal, and methods to type into it and read its screen. */
export class InTerminal implements AsyncDisposable {
  readonly child: ProcessHandle;
  readonly #client: Client;

  private constructor(client: Client, child: ProcessHandle) {
    this.#client = client;
    this.child = child;
  }

  /** Runs the program itself, unless another command is given. */
  static async open(
    args: readonly string[],
    { command = [process.execPath, '--', program], env = {} }: { command?: readonly string[]; env?: RunOptions['env'] } = {},
  ): Promise<InTerminal> {
    const client = connectInProcess();
    const variables = Object.entries({ ...process.env, TERM: 'xterm', NO_COLOR: undefined, CI: 'true', ...env });
    const child = await client.start({
      argv: [...command, ...args],
      io: { kind: 'pty', rows: 30, cols: 90 },
      env: Object.fromEntries(variables.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
      envPolicy: { inherit: 'none' }, // an undefined variable must not be inherited either
    });
    return new InTerminal(client, child);
  }

  type(keys: string): Promise<unknown> {
    return this.child.write(keys);
  }

  /** Everything up to this text, including the rest of its chunk; fails if the text does not appear. */
  async see(text: string | RegExp): Promise<string> {
    const seen = await this.child.collectUntil({ deadlineMs: 20_000, text });
    assert.equal(seen.reason, 'text', `waited for ${text}, saw ${JSON.stringify(seen.text)}`);
    return seen.text;
  }

  /** Everything until the program ends, and its exit code. */
  async rest(): Promise<{ text: string; code: number | undefined }> {
    const pieces: Uint8Array[] = [];
    for await (const { bytes } of this.child.output) pieces.push(bytes);
    const ending = await this.child.closed;
    return { text: Buffer.concat(pieces).toString(), code: ending.kind === 'code' ? ending.code : undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}
