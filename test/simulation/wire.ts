// A channel between a client and the server that guarantees only order: it delays, stalls, bursts and is cut at any message, noticed first
// by either side, with messages in flight lost or still arriving.

import { type Deferred, deferred } from '#src/base/deferred.js';
import type { BinaryParts, Channel, ChannelEnd, ChannelListener } from '#src/rpc/channel.js';
import { type MessageParts, joinParts } from '#src/rpc/json-parts.js';
import type { Dice } from './dice.js';
import { type Content, Lane, type LaneHooks } from './lane.js';
import type { World } from './world.js';

export type Direction = 'up' | 'down';

export interface Cut {
  readonly seenBy: 'both' | 'client' | 'server';
  /** What happens to messages that the first side to notice had sent. */
  readonly underWay: 'lost' | 'arrives';
  /** Delay until the other side notices. */
  readonly otherAfterMs: number;
}

/** Observes what passes on a wire. */
export interface WireWatcher {
  /** The server has sent something. */
  sent(wire: Wire, content: Content): void;
  /** About to be delivered; returns false when the wire was cut instead. */
  arrives(wire: Wire, direction: Direction, content: Content): boolean;
  /** Delivered; promises have not settled yet. */
  arrived(wire: Wire, direction: Direction, content: Content): void;
}

export class Wire {
  readonly name: string;
  readonly up: Lane;
  readonly down: Lane;
  readonly clientEnd: WireEnd;
  readonly serverEnd: WireEnd;
  readonly #world: World;

  constructor(world: World, name: string, watcher: WireWatcher) {
    this.#world = world;
    this.name = name;
    this.up = new Lane(world, world.dice(`${name} up`), this.#hooks('up', watcher));
    this.down = new Lane(world, world.dice(`${name} down`), this.#hooks('down', watcher));
    this.clientEnd = new WireEnd(world, `${name} server`, { out: this.up, in: this.down });
    this.serverEnd = new WireEnd(world, `${name} client`, {
      out: this.down,
      in: this.up,
      sent: (content) => watcher.sent(this, content),
    });
    this.up.onFinished(() => this.serverEnd.lose('closed by the peer'));
    this.down.onFinished(() => this.clientEnd.lose('closed by the peer'));
  }

  cut({ seenBy, underWay, otherAfterMs }: Cut): void {
    this.#world.note(() => `${this.name}: cut, seen by ${seenBy}, messages in flight: ${underWay}`);
    if (seenBy === 'both') {
      this.up.drop();
      this.down.drop();
      this.clientEnd.lose('cut');
      this.serverEnd.lose('cut');
      return;
    }
    const [near, far] = seenBy === 'client' ? [this.clientEnd, this.serverEnd] : [this.serverEnd, this.clientEnd];
    const [sent, coming] = seenBy === 'client' ? [this.up, this.down] : [this.down, this.up];
    coming.loseInto();
    if (underWay === 'lost') sent.loseInto();
    near.lose('cut');
    this.#world.after(otherAfterMs, () => {
      this.up.drop();
      this.down.drop();
      far.lose('cut');
    });
  }

  #hooks(direction: Direction, watcher: WireWatcher): LaneHooks {
    return {
      arrives: (content) => watcher.arrives(this, direction, content),
      arrived: (content) => watcher.arrived(this, direction, content),
    };
  }
}

interface Lanes {
  readonly out: Lane;
  readonly in: Lane;
  readonly sent?: (content: Content) => void;
}

class WireEnd implements Channel {
  readonly peer: string;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #lanes: Lanes;
  readonly #ended: Deferred<ChannelEnd> = deferred();
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(world: World, peer: string, lanes: Lanes) {
    this.#world = world;
    this.peer = peer;
    this.#dice = world.dice(peer);
    this.#lanes = lanes;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get closed(): Promise<ChannelEnd> {
    return this.#ended.promise;
  }

  get queuedBytes(): number {
    return this.#lanes.out.bytes;
  }

  listen(listener: ChannelListener): void {
    this.#lanes.in.listen(listener);
  }

  send(text: string): boolean {
    return this.#send(text);
  }

  sendParts(parts: MessageParts): boolean {
    return this.#send(joinParts(parts));
  }

  /** Copied, because the server reuses the buffer of frame headers. */
  sendBinary(...frame: BinaryParts): boolean {
    return this.#send(Buffer.concat(frame.filter((part) => part !== undefined)));
  }

  drained(): Promise<void> {
    return this.#lanes.out.drained();
  }

  pause(): void {
    this.#lanes.in.pause();
  }

  resume(): void {
    this.#lanes.in.resume();
  }

  close(problem?: string): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#lanes.in.drop();
    this.#lanes.out.end();
    this.#world.soon(this.#dice, () => this.#finish(problem));
  }

  /** This side learns that the other one is gone. */
  lose(problem: string): void {
    this.#lanes.in.drop();
    this.#lanes.out.end();
    this.#finish(problem);
  }

  #send(content: Content): boolean {
    if (this.#state !== 'open') return false;
    this.#lanes.sent?.(content);
    return this.#lanes.out.send(content);
  }

  #finish(problem: string | undefined): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#ended.resolve(problem === undefined ? {} : { problem });
  }
}
