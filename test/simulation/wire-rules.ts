// Rules for every wire, at all times: control requests are answered within the event in which they arrive, the answer to a start precedes
// its events, and a connection whose session was taken over no longer has any effect.

import { decodeOutputFrame } from '#src/protocol/index.js';
import { type Content, highWaterBytes } from './lane.js';
import type { Cut, Direction, Wire, WireWatcher } from './wire.js';
import type { World } from './world.js';

/** Answered immediately, even while stdin is stuck, output floods and other connections stall. */
const immediate: ReadonlySet<string> = new Set([
  'process/start',
  'process/closeStdin',
  'process/resize',
  'process/signal',
  'process/terminate',
  'process/snapshot',
  'process/list',
  'process/attach',
  'process/detach',
  'process/release',
  'process/forget',
  'environment/info',
  'environment/status',
]);

/** The server's own limit on answers that wait for a peer. */
const queuedReplyBytes = 4 * 1024 * 1024;

/** Longest output frame, including its header. */
const longestFrameBytes = 64 * 1024 + 64;

export interface ArmedCut {
  readonly cut: Cut;
  readonly lane: Direction;
  readonly moment: 'before' | 'after';
  /** Messages that pass before it. */
  messages: number;
}

interface Known {
  readonly client: string;
  /** Requests without an answer, by id. */
  readonly asked: Map<string, { readonly method: string; readonly processId: string | undefined }>;
  readonly followed: Set<string>;
  /** Stale: another connection has taken over its session. */
  state: 'new' | 'drives' | 'stale';
}

export class WireRules implements WireWatcher {
  readonly #world: World;
  readonly #wires = new Map<Wire, Known>();
  readonly #armed = new Map<string, ArmedCut[]>();
  /** Requests that must be answered before the next event. */
  #due: { readonly wire: Wire; readonly id: string; readonly method: string }[] = [];
  /** The effect count before a message arrived on a stale wire. */
  #effectsBefore: { readonly wire: Wire; readonly effects: number } | undefined;

  constructor(world: World) {
    this.#world = world;
    world.addCheck(() => this.#check());
  }

  add(wire: Wire, client: string): void {
    this.#wires.set(wire, { client, asked: new Map(), followed: new Set(), state: 'new' });
  }

  /** Cuts this client's current or next connection once this many messages have passed. */
  arm(client: string, cut: ArmedCut): void {
    this.#armed.set(client, [...(this.#armed.get(client) ?? []), cut]);
  }

  disarm(): void {
    this.#armed.clear();
  }

  sent(wire: Wire, content: Content): void {
    const known = this.#wires.get(wire);
    if (known === undefined) return;
    if (typeof content !== 'string') return this.#noteEvent(known, decodeOutputFrame(content)?.processId);
    const reply = /^\{"id":(\d+),"(?:result|error)"/.exec(content);
    if (reply === null) {
      return this.#noteEvent(known, /^\{"method":"process\/\w+","params":\{"processId":"([^"]+)"/.exec(content)?.[1]);
    }
    const id = reply[1] ?? '';
    const asked = known.asked.get(id);
    if (asked === undefined) this.#world.fail(`${wire.name}: request ${id} is answered twice, or was never sent`);
    known.asked.delete(id);
    this.#world.note(() => `${wire.name}: the server answers ${asked?.method}`);
    if (asked?.method === 'initialize' && content.includes('"sessionId"')) this.#tookOver(wire, known.client);
  }

  arrives(wire: Wire, direction: Direction, _content: Content): boolean {
    const known = this.#wires.get(wire);
    if (known === undefined) return true;
    if (known.state === 'stale' && direction === 'up') this.#effectsBefore ??= { wire, effects: this.#world.effects };
    return !this.#isCutNow(wire, direction, 'before');
  }

  arrived(wire: Wire, direction: Direction, content: Content): void {
    if (direction === 'up' && typeof content === 'string') this.#asked(wire, content);
    for (const each of this.#armedFor(wire, direction)) each.messages -= 1;
    this.#isCutNow(wire, direction, 'after');
  }

  /** Requests that arrived on connections that are still open and were never answered. */
  get unanswered(): string[] {
    return [...this.#wires].flatMap(([wire, { asked }]) =>
      wire.serverEnd.isOpen ? [...asked.values()].map(({ method }) => `${wire.name}: ${method}`) : [],
    );
  }

  #asked(wire: Wire, content: string): void {
    const { id, method, params } = JSON.parse(content) as { id?: number; method: string; params?: { processId?: string } };
    this.#world.note(() => `${wire.name}: ${method} arrives${params?.processId === undefined ? '' : ` for ${params.processId}`}`);
    if (id === undefined) return;
    this.#wires.get(wire)?.asked.set(String(id), { method, processId: params?.processId });
    if (immediate.has(method)) this.#due.push({ wire, id: String(id), method });
  }

  #noteEvent(known: Known, processId: string | undefined): void {
    if (processId === undefined) return;
    const starts = [...known.asked.values()].some((asked) => asked.method === 'process/start' && asked.processId === processId);
    if (starts && !known.followed.has(processId)) this.#world.fail(`events of ${processId} precede the answer to its start`);
    known.followed.add(processId);
  }

  #tookOver(by: Wire, client: string): void {
    for (const [wire, known] of this.#wires) {
      if (wire === by) known.state = 'drives';
      else if (known.client === client && known.state === 'drives') known.state = 'stale';
    }
  }

  #armedFor(wire: Wire, direction: Direction): ArmedCut[] {
    return (this.#armed.get(this.#wires.get(wire)?.client ?? '') ?? []).filter(({ lane }) => lane === direction);
  }

  #isCutNow(wire: Wire, direction: Direction, moment: 'before' | 'after'): boolean {
    const ripe = this.#armedFor(wire, direction).find((each) => each.messages <= 0 && each.moment === moment);
    if (ripe === undefined) return false;
    const client = this.#wires.get(wire)?.client ?? '';
    this.#armed.set(
      client,
      (this.#armed.get(client) ?? []).filter((each) => each !== ripe),
    );
    wire.cut(ripe.cut);
    return true;
  }

  #check(): void {
    for (const { wire, id, method } of this.#due.splice(0)) {
      const isOpen = wire.serverEnd.isOpen && wire.serverEnd.queuedBytes <= queuedReplyBytes;
      if (isOpen && this.#wires.get(wire)?.asked.has(id) === true)
        this.#world.fail(`${wire.name}: ${method} is not answered immediately`);
    }
    const before = this.#effectsBefore;
    this.#effectsBefore = undefined;
    if (before !== undefined && before.effects !== this.#world.effects) {
      this.#world.fail(`${before.wire.name} still drives, although its session was taken over`);
    }
    for (const [wire, { state, followed }] of this.#wires) {
      if (state === 'stale' && wire.serverEnd.isOpen)
        this.#world.fail(`${wire.name} is still open, although its session was taken over`);
      const bound = highWaterBytes + (followed.size + 2) * longestFrameBytes;
      if (wire.down.bytes > bound && wire.down.frameBytes > bound) {
        this.#world.fail(`${wire.down.frameBytes} bytes of output are queued for ${wire.name}`);
      }
      if (!wire.serverEnd.isOpen && !wire.clientEnd.isOpen) this.#wires.delete(wire);
    }
  }
}
