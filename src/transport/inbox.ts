// Passes messages from the peer to the listener. While there is no listener or the channel is paused, it holds them, in order and without
// loss. Knows no socket: the channel must stop reading while messages are held, or check `heldBytes`.

import type { ChannelListener } from '../rpc/channel.js';

type Arrival =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'binary'; readonly frame: Uint8Array }
  | { readonly kind: 'unreadable'; readonly problem: string };

/** Approximate cost of holding one message besides its content, so that a flood of tiny messages counts too. */
const overheadBytes = 64;

export class Inbox implements ChannelListener {
  #listener: ChannelListener | undefined;
  /** The listener while messages are passed straight to it. */
  #open: ChannelListener | undefined;
  #isPaused = false;
  #isReleasing = false;
  #isClosed = false;
  #held: Arrival[] = [];
  #heldBytes = 0;
  #emptied: (() => void) | undefined;

  /** Whether a message that arrives now would be held. */
  get isHolding(): boolean {
    return this.#open === undefined;
  }

  /** Approximate memory used by held messages. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  listen(listener: ChannelListener): void {
    if (this.#listener !== undefined) throw new Error('a channel takes exactly one listener, and this one already has it');
    this.#listener = listener;
    this.#release();
  }

  pause(): void {
    this.#isPaused = true;
    this.#open = undefined;
  }

  resume(): void {
    this.#isPaused = false;
    this.#release();
  }

  message(text: string): void {
    if (this.#open !== undefined) return this.#open.message(text);
    this.#hold({ kind: 'message', text });
  }

  binary(frame: Uint8Array): void {
    if (this.#open !== undefined) return this.#open.binary(frame);
    this.#hold({ kind: 'binary', frame });
  }

  unreadable(problem: string): void {
    if (this.#open !== undefined) return this.#open.unreadable(problem);
    this.#hold({ kind: 'unreadable', problem });
  }

  /** Nothing more will arrive. Calls `emptied` once the listener has received everything. */
  end(emptied: () => void): void {
    if (this.#held.length === 0) return emptied();
    this.#emptied = emptied;
  }

  /** Discards everything that is held and everything that still arrives. */
  close(): void {
    this.#isClosed = true;
    this.#open = undefined;
    this.#drop(this.#held.length);
  }

  #hold(arrival: Arrival): void {
    if (this.#isClosed) return;
    this.#held.push(arrival);
    this.#heldBytes += sizeOf(arrival);
  }

  /** The listener may pause during the loop, or cause more messages to arrive. */
  #release(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    let given = 0;
    try {
      for (const arrival of this.#held) {
        if (this.#isPaused || this.#isClosed || this.#listener === undefined) break;
        given += 1;
        give(arrival, this.#listener);
      }
    } finally {
      this.#isReleasing = false;
      this.#drop(given);
    }
    if (!this.#isPaused && !this.#isClosed) this.#open = this.#listener;
  }

  #drop(count: number): void {
    for (const arrival of this.#held.splice(0, count)) this.#heldBytes -= sizeOf(arrival);
    if (this.#held.length > 0 || this.#emptied === undefined) return;
    const emptied = this.#emptied;
    this.#emptied = undefined;
    emptied();
  }
}

function give(arrival: Arrival, listener: ChannelListener): void {
  switch (arrival.kind) {
    case 'message':
      return listener.message(arrival.text);
    case 'binary':
      return listener.binary(arrival.frame);
    case 'unreadable':
      return listener.unreadable(arrival.problem);
  }
}

function sizeOf(arrival: Arrival): number {
  switch (arrival.kind) {
    case 'message':
      return overheadBytes + arrival.text.length;
    case 'binary':
      return overheadBytes + arrival.frame.length;
    case 'unreadable':
      return overheadBytes + arrival.problem.length;
  }
}
