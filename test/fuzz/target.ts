// The real server programs that are fuzzed, as their users start them: one with a WebSocket and a Unix socket, and one on stdio for each
// client there. Tells what can be seen of them from outside.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readProcTable } from '#src/process/proc-table.js';
import { program } from '../support/sluice-server.js';
import { type Wire, type WireListener, streamWire, tcpWire, unixWire, webSocketWire } from './wire.js';

/** Short, so that what is to go away by itself goes while somebody looks. */
const flags = [
  ...['--log-level', 'warn', '--detach-grace-ms', '300', '--keep-closed-ms', '300', '--keep-released-ms', '300'],
  ...['--drain-quiet-ms', '50', '--drain-limit-ms', '300', '--force-after-ms', '50', '--max-message-bytes', '2MiB'],
];

const scales = new URL('../fixtures/weighed.js', import.meta.url).href;

/** What one server has. */
export interface Belongings {
  readonly descriptors: number;
  readonly children: number;
  readonly sessions: number;
  readonly connections: number;
  readonly processes: number;
  readonly residentMiB: number;
  /** On the heap and beside it, after the garbage was collected. */
  readonly liveMiB: number;
}

/** A server that is alive and has not complained. */
class Program {
  readonly child: ChildProcess;
  readonly #complaints: string[] = [];
  #weighed: (bytes: number) => void = () => {};

  constructor(child: ChildProcess) {
    this.child = child;
    if (child.stderr !== null) createInterface(child.stderr).on('line', (line) => this.#said(line));
  }

  async weight(): Promise<number> {
    const weighed = new Promise<number>((resolve) => (this.#weighed = resolve));
    this.child.kill('SIGUSR2');
    return weighed;
  }

  get problems(): string[] {
    const { exitCode, signalCode } = this.child;
    const isDead = (exitCode !== null && exitCode !== 0) || signalCode !== null;
    return [...(isDead ? [`the server ended: ${signalCode ?? `code ${exitCode}`}`] : []), ...this.#complaints.slice(0, 5)];
  }

  #said(line: string): void {
    const { weighedBytes } = (line.startsWith('{"weighedBytes":') ? JSON.parse(line) : {}) as { weighedBytes?: number };
    if (weighedBytes === undefined) this.#complaints.push(line);
    else this.#weighed(weighedBytes);
  }

  async ended(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }
}

export class FuzzTarget implements AsyncDisposable {
  readonly #program: Program;
  readonly #folder: string;
  readonly #webSocketUrl: string;
  readonly #retired: string[] = [];

  private constructor(started: Program, folder: string, webSocketUrl: string) {
    this.#program = started;
    this.#folder = folder;
    this.#webSocketUrl = webSocketUrl;
  }

  static async start(): Promise<FuzzTarget> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const listen = ['--listen', 'ws://127.0.0.1:0', '--listen', `unix://${join(folder, 'socket')}`];
    const child = spawn(process.execPath, ['--expose-gc', '--import', scales, program, 'serve', ...listen, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = new Program(child);
    const lines = createInterface(child.stdout);
    const [url] = (await Promise.race([once(lines, 'line'), started.ended().then(() => [])])) as [string?];
    return new FuzzTarget(started, folder, url ?? assert.fail(started.problems.join('\n')));
  }

  /** Crashes, and everything worth a warning in the log: nothing that a client says should be. */
  get problems(): string[] {
    return [...this.#retired, ...this.#program.problems];
  }

  get unixUrl(): string {
    return `unix://${join(this.#folder, 'socket')}`;
  }

  unix(listener: WireListener): Promise<Wire> {
    return unixWire(join(this.#folder, 'socket'), listener);
  }

  webSocket(listener: WireListener): Promise<Wire> {
    return webSocketWire(this.#webSocketUrl, listener);
  }

  tcp(): Promise<Wire> {
    return tcpWire(this.#webSocketUrl);
  }

  /** A server of its own; when the wire has closed, it has ended. */
  stdio(listener: WireListener): Wire {
    const child = spawn(process.execPath, [program, 'serve', '--listen', 'stdio', ...flags], { stdio: 'pipe' });
    const started = new Program(child);
    const wire = streamWire(child.stdout, child.stdin, listener);
    const closed = started.ended().then(() => void this.#retired.push(...started.problems));
    return {
      send: (bytes) => wire.send(bytes),
      end: () => wire.end(),
      cut: () => wire.cut(),
      closed,
      get isClosed() {
        return child.exitCode !== null || child.signalCode !== null;
      },
    };
  }

  async metric(name: string): Promise<number> {
    const response = await fetch(`${this.#webSocketUrl.replace('ws:', 'http:')}/metrics`, { headers: { connection: 'close' } });
    const text = await response.text();
    return [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, 'gm'))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  }

  async belongings(): Promise<Belongings> {
    const pid = this.#program.child.pid ?? assert.fail('no pid');
    const table = await readProcTable();
    return {
      sessions: await this.metric('sluice_sessions'),
      connections: await this.metric('sluice_connections'),
      processes: await this.metric('sluice_processes'),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      children: table.entries.filter(({ ppid }) => ppid === pid).length,
      residentMiB: Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024),
      liveMiB: Math.round((await this.#program.weight()) / 1024 / 1024),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program.child.kill('SIGTERM');
    await this.#program.ended();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
