// The events of one run, in order, for any number of readers, each at its own pace and from any position, in bounded memory.

import type { AgentEvent } from './agent-event.js';

/** What a reader gets: an event, or a gap in place of events that were evicted before it read them. */
export type SeenEvent = AgentEvent | { readonly type: 'gap'; readonly missedEvents: number };

/** Kept in memory for readers that start late or fall behind. The run's log file has everything. */
const keptBytes = 32 * 1024 * 1024;

export class EventLog {
  readonly #events: AgentEvent[] = [];
  readonly #sizes: number[] = [];
  readonly #waiters = new Set<() => void>();
  #bytes = 0;
  #forgotten = 0;
  #isOver = false;

  /** The sequence number of the next event. */
  get nextSeq(): number {
    return this.#forgotten + this.#events.length + 1;
  }

  append(event: AgentEvent): void {
    const size = JSON.stringify(event).length;
    this.#events.push(event);
    this.#sizes.push(size);
    this.#bytes += size;
    while (this.#bytes > keptBytes && this.#events.length > 1) {
      this.#events.shift();
      this.#bytes -= this.#sizes.shift() ?? 0;
      this.#forgotten += 1;
    }
    this.#wake();
  }

  /** No more events will be appended. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** Everything after `afterSeq`, then new events, until the end. */
  async *read(afterSeq = 0): AsyncGenerator<SeenEvent> {
    for (let next = afterSeq + 1; ;) {
      if (next <= this.#forgotten) {
        yield { type: 'gap', missedEvents: this.#forgotten - next + 1 };
        next = this.#forgotten + 1;
      }
      const event = this.#events[next - this.#forgotten - 1];
      if (event !== undefined) {
        next += 1;
        yield event;
      } else if (this.#isOver) return;
      else await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  #wake(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }
}

/** The events of one turn, up to its end. */
export async function* turnEvents(events: AsyncIterable<SeenEvent>, turn: number): AsyncGenerator<SeenEvent> {
  for await (const event of events) {
    if (event.type === 'ended' || (event.type !== 'gap' && event.turn > turn)) return;
    if (event.type !== 'gap' && event.turn < turn) continue;
    yield event;
    if (event.type === 'turnEnded') return;
  }
}
