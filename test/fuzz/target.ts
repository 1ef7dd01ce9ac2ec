// The real server programs that are fuzzed, started as users start them: one with a WebSocket and a Unix socket, and one on stdio for each
// client there. Reports what can be observed from outside.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { childrenOf, descriptorCount, memoryOf } from '../support/proc.js';
import { overUnixSocket, overWebSocket } from '../support/raw-connections.js';
import type { RawPeer } from '../support/raw-peer.js';
import { program } from '../support/sluice-server.js';
import { type Guise, type Outfit, importsOnStdio, outfitOf } from './guises.js';
import { type WebSocketDoor, type Wire, type WireListener, deafWire, streamWire, unixWire, webSocketWire } from './wire.js';

/** Short, so that whatever expires does so while the campaign is still checking. */
const flags = [
  ...['--log-level', 'warn', '--detach-grace-ms', '300', '--keep-closed-ms', '300', '--keep-released-ms', '300'],
  ...['--drain-quiet-ms', '50', '--drain-limit-ms', '300', '--force-after-ms', '50', '--max-message-bytes', '2MiB'],
];

const scales = new URL('../fixtures/weighed.js', import.meta.url).href;

/** What one server holds. */
export interface Belongings {
  readonly descriptors: number;
  readonly children: number;
  readonly sessions: number;
  readonly connections: number;
  readonly processes: number;
  readonly residentMiB: number;
  /** On and off the heap, after a garbage collection. */
  readonly liveMiB: number;
}

interface Dressed {
  readonly folder: string;
  readonly guise: Guise;
  readonly outfit: Outfit;
  readonly urls: readonly string[];
}

function importFlags(modules: readonly string[]): string[] {
  return modules.flatMap((module) => ['--import', module]);
}

/** A server process, with its crashes and everything it wrote to stderr. */
class Program {
  readonly child: ChildProcess;
  readonly #complaints: string[] = [];
  #weighed: (bytes: number) => void = () => {};

  constructor(child: ChildProcess) {
    this.child = child;
    if (child.stderr !== null) createInterface(child.stderr).on('line', (line) => this.#onStderrLine(line));
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

  #onStderrLine(line: string): void {
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
  readonly #guise: Guise;
  readonly #outfit: Outfit;
  /** The WebSocket addresses: first one without TLS, for our own requests, and last the one that is fuzzed. */
  readonly #webSocketUrls: readonly string[];
  readonly #retired: string[] = [];

  private constructor(started: Program, { folder, guise, outfit, urls }: Dressed) {
    this.#program = started;
    this.#folder = folder;
    this.#guise = guise;
    this.#outfit = outfit;
    this.#webSocketUrls = urls;
  }

  static async start(guise: Guise = 'plain'): Promise<FuzzTarget> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const outfit = outfitOf(guise, folder);
    const webSockets = ['ws://127.0.0.1:0', ...(outfit.certificate === undefined ? [] : ['wss://127.0.0.1:0'])];
    const listen = [...webSockets, `unix://${join(folder, 'socket')}`].flatMap((url) => ['--listen', url]);
    const node = ['--expose-gc', ...importFlags([scales, ...outfit.imports])];
    const child = spawn(process.execPath, [...node, '--', program, 'serve', ...listen, ...flags, ...outfit.flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = new Program(child);
    const urls: string[] = [];
    for await (const line of createInterface(child.stdout)) if (urls.push(line) === webSockets.length) break;
    assert.equal(urls.length, webSockets.length, started.problems.join('\n'));
    return new FuzzTarget(started, { folder, guise, outfit, urls });
  }

  /** Crashes, and every warning in the log: nothing that a client sends should cause one. */
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
    return webSocketWire(this.#door, listener);
  }

  /** For data in place of a handshake: a WebSocket's, or TLS's if there is one. */
  knock(over: 'TLS' | 'TCP'): Promise<Wire> {
    return deafWire(over === 'TLS' ? this.#door : { ...this.#door, certificate: undefined });
  }

  /** The callers: those over the Unix socket count as one, and those with credentials, if required, as another. */
  get callers(): number {
    return this.#outfit.authorization === undefined ? 1 : 2;
  }

  /** A connection as each of the callers that may own processes. */
  async peers(): Promise<RawPeer[]> {
    const { authorization } = this.#outfit;
    const unix = await overUnixSocket(`unix://${join(this.#folder, 'socket')}`);
    return authorization === undefined ? [unix] : [unix, await overWebSocket(this.#plainUrl, { authorization })];
  }

  get #door(): WebSocketDoor {
    return { ...this.#outfit, url: this.#webSocketUrls.at(-1) ?? '' };
  }

  get #plainUrl(): string {
    return this.#webSocketUrls[0] ?? '';
  }

  /** Starts its own server, which has ended by the time the wire is closed. */
  stdio(listener: WireListener): Wire {
    const node = importFlags(importsOnStdio(this.#guise));
    const child = spawn(process.execPath, [...node, '--', program, 'serve', '--listen', 'stdio', ...flags], { stdio: 'pipe' });
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
    const { authorization } = this.#outfit;
    const headers = { connection: 'close', ...(authorization === undefined ? {} : { authorization }) };
    const response = await fetch(`${this.#plainUrl.replace('ws:', 'http:')}/metrics`, { headers });
    const text = await response.text();
    return [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, 'gm'))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  }

  async belongings(): Promise<Belongings> {
    const pid = this.#program.child.pid ?? assert.fail('no pid');
    return {
      sessions: await this.metric('sluice_sessions'),
      connections: await this.metric('sluice_connections'),
      processes: await this.metric('sluice_processes'),
      descriptors: descriptorCount(pid),
      children: childrenOf(pid).length,
      residentMiB: Math.round(memoryOf(pid).now / 1024 / 1024),
      liveMiB: Math.round((await this.#program.weight()) / 1024 / 1024),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program.child.kill('SIGTERM');
    await this.#program.ended();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
