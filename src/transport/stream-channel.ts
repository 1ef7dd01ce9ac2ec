// A Channel over a Node readable and writable: the standard streams of a program, or a Unix socket. Knows neither the content of the
// lines nor where the streams lead.

import type { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, systemClock, type Timer } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { BinaryParts, Channel, ChannelEnd, ChannelListener } from '../rpc/channel.js';
import type { MessageParts } from '../rpc/json-parts.js';
import { Inbox } from './inbox.js';
import { encodedParts, encodeLine, LineFraming, markedFrame } from './line-framing.js';
import { isKept } from './message-parts.js';
import { Outbox } from './outbox.js';

/** How long a close waits for the peer to read what was sent. A peer that reads at all needs milliseconds. */
const flushPatienceMs = 5_000;

/** How long a close then waits for the peer to end its side too; cutting it off would look like an error to the peer. */
const lingerMs = 1_000;

export interface StreamChannelOptions {
  readonly readable: Readable;
  /** The same object as `readable` when they are one socket. */
  readonly writable: Writable;
  readonly peer: string;
  readonly maxMessageBytes: number;
  readonly clock?: Clock;
}

/** Owns both streams and closes them when it ends. */
export class StreamChannel implements Channel {
  readonly peer: string;
  readonly #readable: Readable;
  readonly #writable: Writable;
  readonly #clock: Clock;
  readonly #inbox = new Inbox();
  readonly #outbox: Outbox;
  readonly #framing: LineFraming;
  readonly #ended = deferred<ChannelEnd>();
  #state: 'open' | 'closing' | 'closed' = 'open';
  #problem: string | undefined;
  #hasReadAll = false;
  #hasWrittenAll = false;
  #patience: Timer | undefined;

  constructor({ readable, writable, peer, maxMessageBytes, clock = systemClock }: StreamChannelOptions) {
    this.peer = peer;
    this.#readable = readable;
    this.#writable = writable;
    this.#clock = clock;
    this.#outbox = new Outbox(writable);
    this.#framing = new LineFraming(maxMessageBytes, this.#inbox);
    readable.on('error', (error) => this.#cutOff(error.message));
    readable.on('end', () => this.#peerEnded());
    readable.on('close', () => this.#readableClosed());
    writable.on('error', (error) => this.#writingFailed(error.message));
    writable.on('finish', () => this.#everythingSent());
    writable.on('close', () => this.#everythingSent());
  }

  get closed(): Promise<ChannelEnd> {
    return this.#ended.promise;
  }

  get queuedBytes(): number {
    return this.#outbox.queuedBytes;
  }

  listen(listener: ChannelListener): void {
    this.#inbox.listen(listener);
    this.#readable.on('data', (bytes: Uint8Array) => {
      if (this.#state === 'open') this.#framing.push(bytes);
    });
    if (this.#inbox.isHolding) this.#readable.pause();
  }

  send(text: string): boolean {
    return this.#outbox.write(encodeLine(text));
  }

  sendParts(parts: MessageParts): boolean {
    return this.#outbox.composeAll(encodedParts(parts), isKept(parts) ? 'asTaken' : 'now');
  }

  sendBinary(...frame: BinaryParts): boolean {
    return this.#outbox.compose(markedFrame(frame));
  }

  drained(): Promise<void> {
    return this.#outbox.drained();
  }

  pause(): void {
    this.#inbox.pause();
    if (this.#state === 'open') this.#readable.pause();
  }

  resume(): void {
    this.#inbox.resume();
    if (!this.#inbox.isHolding) this.#readable.resume();
  }

  close(problem?: string): void {
    this.#inbox.close();
    if (this.#state !== 'open') return;
    this.#problem = problem;
    this.#stopSending();
    this.#readable.resume(); // unread bytes would turn the close into a reset, and the peer could lose our last messages
  }

  /** Closes immediately; messages not yet sent or not yet delivered are lost. */
  destroy(problem: string): void {
    this.#inbox.close();
    this.#cutOff(problem);
  }

  #cutOff(problem: string): void {
    if (this.#state === 'closed') return;
    this.#problem ??= problem;
    this.#finish();
  }

  /** Flushes what was written, if the peer reads it in time. */
  #stopSending(): void {
    this.#state = 'closing';
    this.#outbox.close();
    this.#writable.end();
    this.#waitAtMost(flushPatienceMs, () => this.#cutOff('the peer did not read everything that was sent before the close'));
  }

  #peerEnded(): void {
    this.#hasReadAll = true;
    if (this.#state === 'open') {
      this.#framing.end();
      // Answers that need no I/O resolve through promises within this turn, so waiting one turn still sends them.
      void nextTurn().then(() => this.#state === 'open' && this.#stopSending());
    }
    this.#finishWhenDone();
  }

  #readableClosed(): void {
    if (this.#hasReadAll || this.#state === 'closed') return;
    if (this.#state === 'open') return this.#cutOff('the connection was cut off');
    this.#hasReadAll = true;
    this.#finishWhenDone();
  }

  /** Keeps reading unless both streams are one socket: the peer may have sent its last messages before it went away. */
  #writingFailed(problem: string): void {
    if (this.#isOneSocket) return this.#cutOff(problem);
    this.#problem ??= problem;
    this.#outbox.discard();
    this.#everythingSent();
  }

  #everythingSent(): void {
    if (this.#hasWrittenAll || this.#state === 'closed') return;
    this.#hasWrittenAll = true;
    this.#outbox.close();
    this.#waitAtMost(lingerMs, () => this.#finish());
    this.#finishWhenDone();
  }

  #finishWhenDone(): void {
    if (this.#hasReadAll && this.#hasWrittenAll && this.#state !== 'closed') this.#finish();
  }

  #finish(): void {
    this.#state = 'closed';
    this.#patience?.cancel();
    this.#outbox.discard();
    this.#readable.destroy();
    this.#writable.destroy();
    const problem = this.#problem;
    this.#inbox.end(() => this.#ended.resolve(problem === undefined ? {} : { problem }));
  }

  #waitAtMost(ms: number, giveUp: () => void): void {
    this.#patience?.cancel();
    this.#patience = this.#clock.afterIdle(ms, giveUp);
  }

  get #isOneSocket(): boolean {
    return (this.#readable as unknown) === this.#writable;
  }
}
