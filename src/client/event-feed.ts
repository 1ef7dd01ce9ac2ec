// All events of a client's processes as one stream. A slow reader never blocks a process: the stream drops events and reports how many.

import { type ProcessEvent, type ProcessId, type SpawnFailure, isExecError } from '../protocol/index.js';
import type { ExecLink } from './exec-link.js';

export type ClientEvent =
  | ProcessEvent
  /** The server has started the process. Precedes all its other events. */
  | { readonly type: 'started'; readonly processId: ProcessId; readonly pid: number }
  /** The process could not be started; it has no further events. */
  | { readonly type: 'failed'; readonly processId: ProcessId; readonly problem: string; readonly failure?: SpawnFailure }
  /** Events were dropped because the reader was too slow. */
  | { readonly type: 'gap'; readonly missedEvents: number; readonly missedBytes: number };

export interface EventsOptions {
  /** Maximum output kept for the reader, in bytes. 4 MiB when absent. */
  readonly maxBytes?: number;
}

/** An event stream of `Client.events`. Leaving the loop closes it. */
export interface ClientEvents extends AsyncIterableIterator<ClientEvent> {
  /** Ends the stream and discards the queued events. */
  return(): Promise<IteratorResult<ClientEvent>>;
}

const defaultMaxBytes = 4 * 1024 * 1024;

/** Maximum number of queued events; each takes a few hundred bytes besides output. */
const maxEvents = 10_000;

export class EventFeed implements ClientEvents {
  readonly #maxBytes: number;
  readonly #closed: () => void;
  #queue: ClientEvent[] = [];
  #bytes = 0;
  #waiting: ((result: IteratorResult<ClientEvent>) => void)[] = [];
  #hasEnded = false;

  /** `closed` is called once, when the reader has left or the feed has ended. */
  constructor({ maxBytes = defaultMaxBytes }: EventsOptions, closed: () => void) {
    this.#maxBytes = maxBytes;
    this.#closed = closed;
  }

  push(event: ClientEvent): void {
    if (this.#hasEnded) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) return waiting({ done: false, value: event });
    this.#queue.push(event);
    this.#bytes += bytesOf(event);
    if (this.#bytes > this.#maxBytes || this.#queue.length > maxEvents) this.#makeRoom();
  }

  next(): Promise<IteratorResult<ClientEvent>> {
    const event = this.#queue.shift();
    if (event !== undefined) {
      this.#bytes -= bytesOf(event);
      return Promise.resolve({ done: false, value: event });
    }
    if (this.#hasEnded) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<ClientEvent>> {
    this.#queue = [];
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Nothing more will be pushed; queued events can still be read. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const resolve of this.#waiting) resolve({ done: true, value: undefined });
    this.#waiting = [];
    this.#closed();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Shrinks to half the limits, so that this runs rarely. Drops the oldest output first, and other events only when there are too many. */
  #makeRoom(): void {
    let excessBytes = this.#bytes > this.#maxBytes ? this.#bytes - this.#maxBytes / 2 : 0;
    let excessEvents = this.#queue.length > maxEvents ? this.#queue.length - maxEvents / 2 : 0;
    const kept: ClientEvent[] = [];
    for (const event of this.#queue) {
      const isDropped = excessEvents > 0 || (excessBytes > 0 && event.type === 'output');
      if (isDropped || event.type === 'gap') addGap(kept, event);
      else kept.push(event);
      if (!isDropped) continue;
      excessBytes -= bytesOf(event);
      excessEvents -= 1;
    }
    this.#queue = kept;
    this.#bytes = kept.reduce((sum, event) => sum + bytesOf(event), 0);
  }
}

/** All feeds of one client. Ensures that the `started` event of a process precedes its other events. */
export class EventFeeds {
  readonly #link: Pick<ExecLink, 'watch' | 'ended'>;
  readonly #feeds = new Set<EventFeed>();
  /** Events that arrived before the reply to their process's start. At most one window of output, because no handle reads it yet. */
  readonly #starting = new Map<ProcessId, ProcessEvent[]>();
  #watch: Disposable | undefined;

  constructor(link: Pick<ExecLink, 'watch' | 'ended'>) {
    this.#link = link;
    void link.ended.then(() => {
      for (const feed of this.#feeds) feed.end();
    });
  }

  /** Watches the link while at least one feed is open. */
  open(options: EventsOptions): EventFeed {
    const feed = new EventFeed(options, () => this.#removeFeed(feed));
    this.#feeds.add(feed);
    this.#watch ??= this.#link.watch((event) => this.#pushOrHold(event));
    return feed;
  }

  /** Must be followed by `started` or `failed`. */
  starting(processId: ProcessId): void {
    if (this.#feeds.size > 0 && !this.#starting.has(processId)) this.#starting.set(processId, []);
  }

  started(processId: ProcessId, pid: number): void {
    this.#push({ type: 'started', processId, pid });
    this.#releaseHeld(processId);
  }

  failed(processId: ProcessId, error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error);
    const failure = isExecError(error, 'spawnFailed') ? { failure: error.data.failure } : {};
    this.#push({ type: 'failed', processId, problem, ...failure });
    this.#releaseHeld(processId);
  }

  #removeFeed(feed: EventFeed): void {
    this.#feeds.delete(feed);
    if (this.#feeds.size > 0) return;
    this.#watch?.[Symbol.dispose]();
    this.#watch = undefined;
  }

  #pushOrHold(event: ProcessEvent): void {
    const held = this.#starting.get(event.processId);
    if (held === undefined) this.#push(event);
    else held.push(event);
  }

  #releaseHeld(processId: ProcessId): void {
    const held = this.#starting.get(processId) ?? [];
    this.#starting.delete(processId);
    for (const event of held) this.#push(event);
  }

  #push(event: ClientEvent): void {
    for (const feed of this.#feeds) feed.push(event);
  }
}

function addGap(kept: ClientEvent[], missed: ClientEvent): void {
  const last = kept.at(-1);
  const before = last?.type === 'gap' ? last : { missedEvents: 0, missedBytes: 0 };
  const droppedBytes = 'droppedBytes' in missed ? (missed.droppedBytes ?? 0) : 0; // bytes that were already missing before this event
  const more = missed.type === 'gap' ? missed : { missedEvents: 1, missedBytes: bytesOf(missed) + droppedBytes };
  if (last?.type === 'gap') kept.pop();
  kept.push({
    type: 'gap',
    missedEvents: before.missedEvents + more.missedEvents,
    missedBytes: before.missedBytes + more.missedBytes,
  });
}

function bytesOf(event: ClientEvent): number {
  return event.type === 'output' ? event.chunk.length : 0;
}
