// An exec-server that is not Sluice, with real processes on pipes: as the v0 document specifies, or as Codex's releases behave. Like them,
// it drops the connection at an unknown notification. Closed with its streams.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';

export type Dialect = 'v0' | 'released';

const message = v.object({ id: v.optional(v.number()), method: v.string(), params: v.record(v.string(), v.unknown()) });
const start = v.object({
  processId: v.string(),
  argv: v.array(v.string()),
  cwd: v.string(),
  env: v.record(v.string(), v.string()),
  tty: v.boolean(),
  pipeStdin: v.optional(v.boolean(), false),
});

interface Notification {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A released server may send adjacent notifications in the wrong order. */
export type Order = 'asNumbered' | 'swapped';

export class OtherExecServer {
  /** Every message it received, oldest first. */
  readonly asked: { readonly method: string; readonly params: Readonly<Record<string, unknown>> }[] = [];
  readonly #children = new Map<string, ChildProcess>();
  readonly #socket: Duplex;
  readonly #dialect: Dialect;
  readonly #order: Order;

  constructor(socket: Duplex, dialect: Dialect, order: Order = 'asNumbered') {
    this.#socket = socket;
    this.#dialect = dialect;
    this.#order = order;
    createInterface(socket).on('line', (line) => this.#onMessage(v.parse(message, JSON.parse(line))));
    socket.on('close', () => this.#children.forEach((child) => child.kill('SIGKILL')));
    socket.on('error', () => socket.destroy());
    socket.setMaxListeners(0); // one for each process whose output is paused
  }

  #onMessage({ id, method, params }: v.InferOutput<typeof message>): void {
    this.asked.push({ method, params });
    if (id === undefined) {
      if (method !== 'initialized') this.#socket.destroy();
      return;
    }
    try {
      this.#send({ id, result: this.#answer(method, params) });
    } catch (error) {
      this.#send({ id, error: { code: -32600, message: error instanceof Error ? error.message : String(error) } });
    }
  }

  #answer(method: string, params: Readonly<Record<string, unknown>>): object {
    const child = this.#children.get(String(params['processId']));
    switch (method) {
      case 'initialize':
        return this.#dialect === 'v0' ? { protocolVersion: 'exec-server.v0' } : { sessionId: 'a-session' };
      case 'process/start':
        return this.#start(v.parse(start, params));
      case 'process/write':
        if (child === undefined) throw new Error('unknown process id');
        if (child.stdin === null) throw new Error('stdin is closed for process');
        child.stdin.write(Buffer.from(String(params['chunk']), 'base64'));
        return this.#dialect === 'v0' ? { accepted: true } : { status: 'accepted' };
      case 'process/terminate':
        return { running: child?.kill('SIGKILL') ?? false };
      default:
        throw new Error(`unknown method: ${method}`);
    }
  }

  #start({ processId, argv: [program = '', ...args], cwd, env, tty, pipeStdin }: v.InferOutput<typeof start>): object {
    const isStdinOpen = tty || pipeStdin;
    const folder = this.#dialect === 'v0' ? cwd : fileURLToPath(cwd);
    const child = spawn(program, args, { cwd: folder, env, stdio: [isStdinOpen ? 'pipe' : 'ignore', 'pipe', 'pipe'] });
    this.#children.set(processId, child);
    const held: Notification[] = [];
    let seq = 0;
    const notify = (method: string, facts: object): void => {
      seq += 1;
      const numbered = this.#dialect === 'v0' ? {} : { seq };
      held.push({ method, params: { processId, ...numbered, ...facts } });
      if (this.#order === 'swapped' && held.length < 2 && method !== 'process/closed') return;
      for (const notification of held.splice(0).toReversed()) this.#send(notification);
    };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]?.on('data', (bytes: Buffer) => {
        notify('process/output', { stream, chunk: bytes.toString('base64') });
        if (this.#socket.writableNeedDrain) this.#holdBack(child);
      });
    }
    child.once('exit', (code) => notify('process/exited', { exitCode: code ?? 137 }));
    child.once('close', () => {
      this.#children.delete(processId);
      if (this.#dialect === 'released') notify('process/closed', {});
    });
    return { processId };
  }

  #holdBack({ stdout, stderr }: ChildProcess): void {
    for (const output of [stdout, stderr]) output?.pause();
    this.#socket.once('drain', () => {
      for (const output of [stdout, stderr]) output?.resume();
    });
  }

  #send(body: object): void {
    if (!this.#socket.destroyed) this.#socket.write(`${JSON.stringify(body)}\n`);
  }
}
