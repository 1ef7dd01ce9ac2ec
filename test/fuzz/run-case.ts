// One case against a real server: sends everything, waits for what must arrive, and reports what was wrong.

import type { RawPeer } from '../support/raw-peer.js';
import { sessionPlaceholder } from './calls.js';
import type { FuzzCase, Input } from './cases.js';
import { clientFrame, opcodes } from './frames.js';
import { Random } from '../support/random.js';
import { ReplyBook } from './reply-book.js';
import type { FuzzTarget } from './target.js';
import type { Wire } from './wire.js';

/** What concurrent cases know of each other. */
export interface Surroundings {
  readonly target: FuzzTarget;
  /** Recently seen sessions, for other cases to resume and attach to. */
  readonly sessions: string[];
  /** Sessions that a case asked to take over: the server may close their connections. */
  readonly takenOver: Set<string>;
}

interface Listed {
  readonly processId: string;
  readonly sessionId: string;
}

/** Far longer than a healthy server needs, so that only a hang gets there. */
const patienceMs = 20_000;

/** Inputs between two checks that the server still answers. */
const inputsPerLook = 64;

const rememberedSessions = 20;

/** Returns the problems; empty if there were none. */
export async function runCase(fuzzCase: FuzzCase, surroundings: Surroundings): Promise<string[]> {
  if (fuzzCase.request !== undefined) return knock(fuzzCase, fuzzCase.request, surroundings.target);
  const conversation = new Conversation(fuzzCase, surroundings);
  await conversation.open();
  return conversation.run();
}

/** The server answers and hangs up, or just hangs up: it must never wait forever. */
async function knock({ manner, index }: FuzzCase, request: Input, target: FuzzTarget): Promise<string[]> {
  const random = new Random(index);
  const wire = await target.knock(random.chance(0.8) ? 'TLS' : 'TCP');
  for (const piece of manner === 'whole' ? [request.bytes] : piecesOf(request.bytes, random)) await wire.send(piece);
  wire.end();
  const isClosed = await isWithin(wire.closed);
  wire.cut();
  return isClosed ? [] : ['the connection was not closed after a strange request'];
}

class Conversation {
  readonly #case: FuzzCase;
  readonly #surroundings: Surroundings;
  readonly #book = new ReplyBook();
  readonly #random: Random;
  #wire: Wire | undefined;
  #session: string | undefined;
  /** The result of the last `process/list` that this case sent. */
  #listed: readonly Listed[] = [];
  #wake: () => void = () => {};
  #looks = 0;

  constructor(fuzzCase: FuzzCase, surroundings: Surroundings) {
    this.#case = fuzzCase;
    this.#surroundings = surroundings;
    this.#random = new Random(fuzzCase.index);
  }

  async open(): Promise<void> {
    const listener = {
      message: (message: unknown) => {
        this.#book.received(message);
        this.#learn(message);
        this.#wake();
      },
      problem: (problem: string) => this.#book.complain(problem),
    };
    const { target } = this.#surroundings;
    const { transport } = this.#case;
    this.#wire =
      transport === 'stdio'
        ? target.stdio(listener)
        : await (transport === 'unix' ? target.unix(listener) : target.webSocket(listener));
  }

  async run(): Promise<string[]> {
    const { inputs, ending } = this.#case;
    for (const [index, input] of inputs.entries()) {
      if (this.#isClosed) break;
      await this.#send(input);
      if (index % inputsPerLook === inputsPerLook - 1 && index < inputs.length - 1) await this.#look();
    }
    const last = inputs.at(-1)?.meaning.kind;
    if (last === 'fatal') await this.#untilClosed('after something it must not accept');
    else if (last === 'unfinished' || ending === 'end') await this.#finish();
    else if (ending === 'settle') await this.#settle();
    this.#wire?.cut();
    return [...this.#book.problems];
  }

  get #isClosed(): boolean {
    return this.#wire?.isClosed !== false;
  }

  async #send({ bytes, meaning }: Input): Promise<void> {
    const filled = this.#filledIn(bytes);
    this.#book.sent(meaning);
    const { manner } = this.#case;
    if (manner === 'whole') return void this.#wire?.send(filled);
    const pieces = manner === 'trickle' ? Array.from(filled, (byte) => Buffer.from([byte])) : piecesOf(filled, this.#random);
    for (const piece of pieces) await this.#wire?.send(piece);
  }

  /** Checks that the server still answers after everything sent so far. */
  async #look(): Promise<void> {
    this.#looks += 1;
    const id = `look ${this.#looks}`;
    this.#ask(id, 'environment/status');
    if (!(await this.#until(() => this.#book.hasAnswer(id)))) this.#book.complain('the server no longer answers');
  }

  /** Every request has its answer once nothing is left to wait for. */
  async #settle(): Promise<void> {
    await this.#look();
    if (!this.#isDone) {
      this.#ask('the end', 'session/close');
      await this.#until(() => this.#book.hasAnswer('the end'));
    }
    if (!this.#isDone) await (this.#case.transport === 'stdio' ? this.#endReleased() : endEverything(this.#surroundings.target));
    await this.#until(() => this.#isDone);
    if (!this.#isClosed) for (const problem of this.#book.unanswered) this.#book.complain(problem);
    else if (!this.#mayBeClosed) this.#book.complain('the server closed the connection');
    await this.#finish();
  }

  /** A server on stdio has no other client that could end them. */
  async #endReleased(): Promise<void> {
    this.#ask('released', 'process/list', { scope: 'all' });
    await this.#until(() => this.#book.hasAnswer('released'));
    for (const [index, { processId, sessionId }] of this.#listed.entries()) {
      this.#ask(`join ${index}`, 'process/attach', { processId, sessionId, role: 'drive', follow: false });
      this.#ask(`end ${index}`, 'process/terminate', { processId, force: true });
    }
  }

  async #finish(): Promise<void> {
    const isHalf = this.#case.inputs.at(-1)?.meaning.kind === 'unfinished';
    if (this.#case.transport === 'websocket' && !isHalf)
      void this.#wire?.send(clientFrame(opcodes.close, Buffer.from([0x03, 0xe8])));
    else this.#wire?.end();
    await this.#untilClosed('after its end');
  }

  get #isDone(): boolean {
    return this.#book.unanswered.length === 0;
  }

  get #mayBeClosed(): boolean {
    return this.#session !== undefined && this.#surroundings.takenOver.has(this.#session);
  }

  #ask(id: string, method: string, params?: object): void {
    const text = Buffer.from(JSON.stringify({ id, method, params }));
    this.#book.sent({ kind: 'request', id });
    void this.#wire?.send(
      this.#case.transport === 'websocket' ? clientFrame(opcodes.text, text) : Buffer.concat([text, Buffer.from('\n')]),
    );
  }

  /** False when it does not become true in time; true if it does, or if the connection has ended. */
  async #until(isTrue: () => boolean): Promise<boolean> {
    const deadline = Date.now() + patienceMs;
    while (!isTrue() && !this.#isClosed) {
      if (Date.now() > deadline) return false;
      const changed = new Promise<void>((resolve) => (this.#wake = resolve));
      await isWithin(Promise.race([changed, this.#wire?.closed]), 1_000);
    }
    return true;
  }

  async #untilClosed(when: string): Promise<void> {
    if (this.#wire !== undefined && !(await isWithin(this.#wire.closed)))
      this.#book.complain(`the connection was not closed ${when}`);
  }

  #learn(message: unknown): void {
    const { id, result } = (message ?? {}) as { id?: unknown; result?: { processes?: readonly Listed[] } };
    if (id === 'released') this.#listed = result?.processes ?? [];
    const { sessionId, sessions } = { sessionId: sessionIdIn(message), sessions: this.#surroundings.sessions };
    if (sessionId === undefined) return;
    this.#session ??= sessionId;
    sessions.push(sessionId);
    if (sessions.length > rememberedSessions) sessions.shift();
  }

  #filledIn(bytes: Buffer): Buffer {
    const at = bytes.indexOf(sessionPlaceholder);
    const { sessions, takenOver } = this.#surroundings;
    if (at < 0 || sessions.length === 0 || this.#case.transport === 'stdio') return bytes;
    const session = this.#random.pick(sessions);
    if (bytes.includes('takeover')) takenOver.add(session);
    const filled = Buffer.from(bytes);
    filled.write(session, at, 'latin1');
    return filled;
  }
}

/** Terminates released processes, which outlive their sessions: calls that wait for them would never be answered. */
export async function endEverything(target: FuzzTarget): Promise<void> {
  await Promise.all((await target.peers()).map(async (peer) => endAllOf(peer)));
}

async function endAllOf(caller: RawPeer): Promise<void> {
  await using peer = caller;
  await peer.greet();
  const { result } = await peer.request('process/list', { scope: 'all' });
  const { processes } = result as { processes: readonly Listed[] };
  for (const { processId, sessionId } of processes) {
    await peer.request('process/attach', { processId, sessionId, role: 'drive', follow: false });
    await peer.request('process/terminate', { processId, force: true });
    await peer.request('process/detach', { processId });
  }
}

function sessionIdIn(message: unknown): string | undefined {
  const { result } = (message ?? {}) as { result?: unknown };
  if (typeof result !== 'object' || result === null || !('sessionId' in result)) return undefined;
  return typeof result.sessionId === 'string' && result.sessionId.length === sessionPlaceholder.length
    ? result.sessionId
    : undefined;
}

function piecesOf(bytes: Buffer, random: Random): Buffer[] {
  const cuts = Array.from({ length: 1 + random.below(3) }, () => random.below(bytes.length + 1)).toSorted(
    (one, other) => one - other,
  );
  return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length));
}

async function isWithin(promise: Promise<unknown>, ms = patienceMs): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  const isDone = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return isDone;
}
