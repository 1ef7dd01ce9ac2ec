// A real `sluice serve`, started as users start it, and stopped with the test.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const program = fileURLToPath(new URL('../../dist/bin/sluice.cjs', import.meta.url));

/** Every byte limit and time has a flag: `{ drainQuietMs: 200 }` is `--drain-quiet-ms 200`. */
export function limitFlags(limits: Readonly<Record<string, number>> = {}): string[] {
  return Object.entries(limits).flatMap(([name, value]) => [
    `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    String(value),
  ]);
}

/** How it is started, for tests of failures around it. */
export interface Launch {
  /** Flags for Node. */
  readonly node?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A command that execs the server, such as `prlimit --nofile=20`. */
  readonly wrapper?: readonly string[];
  /** A descriptor, instead of a pipe whose lines are kept. */
  readonly stderr?: number;
}

export class SluiceServer implements AsyncDisposable {
  readonly url: string;
  readonly child: ChildProcess;
  /** Lines of its stdout so far: one address each. */
  readonly urls: string[];
  /** Lines of the server's log so far. */
  readonly log: string[];
  readonly #cleanUp: () => void;

  private constructor(started: { urls: string[]; child: ChildProcess; log: string[] }, cleanUp: () => void) {
    this.urls = started.urls;
    this.url = started.urls[0] ?? assert.fail('no address');
    this.child = started.child;
    this.log = started.log;
    this.#cleanUp = cleanUp;
  }

  static async start(kind: 'websocket' | 'unix', flags: readonly string[] = [], launch: Launch = {}): Promise<SluiceServer> {
    const folder = kind === 'unix' ? mkdtempSync(join(tmpdir(), 'sluice-')) : undefined;
    const listen = folder === undefined ? 'ws://127.0.0.1:0' : `unix://${join(folder, 'socket')}`;
    const { wrapper = [], node = [], env = {}, stderr = 'pipe' } = launch;
    const [command = '', ...args] = [...wrapper, process.execPath, ...node, '--', program, 'serve', '--listen', listen, ...flags];
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', stderr], env: { ...process.env, ...env } });
    const log: string[] = [];
    if (child.stderr !== null) createInterface(child.stderr).on('line', (line) => log.push(line));
    const ended = once(child, 'exit').then(() => assert.fail(`the server ended: ${log.join('\n')}`));
    ended.catch(() => {});
    const urls: string[] = [];
    const lines = createInterface(child.stdout ?? assert.fail('no stdout')).on('line', (line) => urls.push(line));
    await Promise.race([once(lines, 'line'), ended]);
    return new SluiceServer({ urls, child, log }, () => folder !== undefined && rmSync(folder, { recursive: true, force: true }));
  }

  /** Signals it to stop and returns its exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const exited = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill(signal);
    const [code] = await exited;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#cleanUp();
  }
}
