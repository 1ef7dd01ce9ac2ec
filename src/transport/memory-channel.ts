// Two Channels connected to each other without a socket: for tests of code built on channels, and for a wire inside one program.

import { deferred } from '../base/deferred.js';
import { joinBytes } from '../base/join-bytes.js';
import type { Channel, ChannelEnd, ChannelListener } from '../rpc/channel.js';
import { type MessageParts, joinParts } from '../rpc/json-parts.js';
import { Inbox } from './inbox.js';
import { DrainGate, highWaterBytes, lowWaterBytes } from './lag.js';

/** What one channel sends, the other receives: asynchronously, in order, and as a copy, as over any wire. */
export function createMemoryChannels(): readonly [Channel, Channel] {
  const [there, back] = [new Lane(), new Lane()];
  return [new MemoryChannel('memory 2', there, back), new MemoryChannel('memory 1', back, there)];
}

class MemoryChannel implements Channel {
  readonly peer: string;
  readonly #outgoing: Lane;
  readonly #incoming: Lane;
  readonly #ended = deferred<ChannelEnd>();
  #isClosing = false;

  constructor(peer: string, outgoing: Lane, incoming: Lane) {
    this.peer = peer;
    this.#outgoing = outgoing;
    this.#incoming = incoming;
    void incoming.finished.then((problem) => this.#peerClosed(problem));
  }

  get closed(): Promise<ChannelEnd> {
    return this.#ended.promise;
  }

  get queuedBytes(): number {
    return this.#outgoing.bytes;
  }

  listen(listener: ChannelListener): void {
    this.#incoming.inbox.listen(listener);
    this.#incoming.flow();
  }

  send(text: string): boolean {
    return this.#outgoing.send(text);
  }

  sendParts(parts: MessageParts): boolean {
    return this.#outgoing.send(joinParts(parts));
  }

  sendBinary(head: Uint8Array, body = new Uint8Array(0)): boolean {
    return this.#outgoing.send(joinBytes([head, body]));
  }

  drained(): Promise<void> {
    return this.#outgoing.drained();
  }

  pause(): void {
    this.#incoming.inbox.pause();
  }

  resume(): void {
    this.#incoming.inbox.resume();
    this.#incoming.flow();
  }

  close(problem?: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#incoming.drop();
    this.#outgoing.end(problem);
    void this.#outgoing.finished.then(() => this.#ended.resolve(problem === undefined ? {} : { problem }));
  }

  #peerClosed(problem: string | undefined): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#outgoing.drop();
    this.#ended.resolve(problem === undefined ? {} : { problem: `closed by the peer: ${problem}` });
  }
}

/** One direction: what was sent but not yet received. Text counts in UTF-16 units. */
class Lane {
  /** The receiver's inbox. */
  readonly inbox = new Inbox();
  readonly #gate = new DrainGate();
  readonly #finished = deferred<string | undefined>();
  #waiting: (string | Uint8Array)[] = [];
  #bytes = 0;
  #state: 'open' | 'ending' | 'ended' = 'open';
  #problem: string | undefined;
  #isFlowing = false;

  get bytes(): number {
    return this.#state === 'open' ? this.#bytes : 0;
  }

  /** Resolves when everything has been received after `end`, or when the receiver has closed. The value is the sender's problem. */
  get finished(): Promise<string | undefined> {
    return this.#finished.promise;
  }

  send(content: string | Uint8Array): boolean {
    if (this.#state !== 'open') return false;
    this.#waiting.push(content);
    this.#bytes += content.length;
    this.flow();
    return this.#bytes <= highWaterBytes;
  }

  drained(): Promise<void> {
    return this.#state !== 'open' || this.#bytes <= highWaterBytes ? Promise.resolve() : this.#gate.wait();
  }

  end(problem: string | undefined): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    this.#problem = problem;
    this.#gate.open();
    this.flow();
  }

  drop(): void {
    this.#state = 'ended';
    this.inbox.close();
    this.#waiting = [];
    this.#bytes = 0;
    this.#gate.open();
    this.#finished.resolve(this.#problem);
  }

  flow(): void {
    if (this.#isFlowing) return;
    this.#isFlowing = true;
    queueMicrotask(() => {
      this.#isFlowing = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    let taken = 0;
    for (const content of this.#waiting) {
      if (this.inbox.isHolding) break;
      taken += 1;
      this.#bytes -= content.length;
      if (typeof content === 'string') this.inbox.message(content);
      else this.inbox.binary(content);
    }
    this.#waiting.splice(0, taken);
    if (this.#bytes <= lowWaterBytes) this.#gate.open();
    if (this.#state === 'ending' && this.#waiting.length === 0) this.drop();
  }
}
