// One direction of a simulated wire: keeps order, delays, stalls, delivers several messages at once, and ends.

import type { Timer } from '#src/base/clock.js';
import type { ChannelListener } from '#src/rpc/channel.js';
import { DrainGate } from '#src/transport/lag.js';
import type { Dice } from './dice.js';
import type { World } from './world.js';

export type Content = string | Uint8Array;

/** Bytes in flight before a sender learns that its peer lags: small, so that it happens often. */
export const highWaterBytes = 96 * 1024;
const lowWaterBytes = 24 * 1024;

/** Most messages delivered at once, as when one read of a socket returns several. */
const longestBurst = 6;

export interface LaneHooks {
  readonly arrives: (content: Content) => boolean;
  readonly arrived: (content: Content) => void;
}

export class Lane {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #hooks: LaneHooks;
  readonly #gate = new DrainGate();
  #queue: Content[] = [];
  #bytes = 0;
  #listener: ChannelListener | undefined;
  #finished: () => void = () => {};
  #state: 'open' | 'ending' | 'over' = 'open';
  #isPaused = false;
  #isPlanned = false;
  /** Takes everything and delivers nothing: the peer is gone, but this side has not noticed. */
  #isBottomless = false;
  #stalledUntil = 0;
  #stall: Timer | undefined;

  constructor(world: World, dice: Dice, hooks: LaneHooks) {
    this.#world = world;
    this.#dice = dice;
    this.#hooks = hooks;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The part of `bytes` that is in binary frames: output. */
  get frameBytes(): number {
    return this.#queue.reduce((sum, content) => sum + (typeof content === 'string' ? 0 : content.length), 0);
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    this.#plan();
  }

  onFinished(finished: () => void): void {
    this.#finished = finished;
  }

  send(content: Content): boolean {
    if (this.#state !== 'open') return false;
    this.#queue.push(content);
    this.#bytes += sizeOf(content);
    this.#plan();
    return this.#bytes <= highWaterBytes;
  }

  drained(): Promise<void> {
    return this.#state !== 'open' || this.#bytes <= highWaterBytes ? Promise.resolve() : this.#gate.wait();
  }

  /** Delivers nothing for a while. */
  stall(ms: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, this.#world.now() + ms);
  }

  heal(): void {
    this.#stalledUntil = 0;
    this.#stall?.cancel();
    if (this.#stall !== undefined) this.#isPlanned = false;
    this.#plan();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#plan();
  }

  /** Nothing more is sent; messages in flight still arrive. */
  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    this.#gate.open();
    this.#plan();
  }

  drop(): void {
    this.#state = 'over';
    this.#queue = [];
    this.#bytes = 0;
    this.#gate.open();
  }

  loseInto(): void {
    this.#isBottomless = true;
  }

  #plan(): void {
    const isIdle = this.#queue.length === 0 && this.#state === 'open';
    const isShut = this.#state === 'over' || this.#isBottomless || this.#isPaused || this.#listener === undefined;
    if (this.#isPlanned || isIdle || isShut) return;
    this.#isPlanned = true;
    this.#world.soon(this.#dice, () => {
      this.#isPlanned = false;
      const stallMs = this.#stalledUntil - this.#world.now();
      if (stallMs <= 0) return this.#deliver();
      this.#isPlanned = true;
      this.#stall = this.#world.after(stallMs, () => {
        this.#stall = undefined;
        this.#isPlanned = false;
        this.#plan();
      });
    });
  }

  #deliver(): void {
    const burst = this.#dice.next() < 0.7 ? 1 : 1 + this.#dice.below(longestBurst);
    for (let count = 0; count < burst && this.#queue.length > 0; count += 1) {
      if (this.#state === 'over' || this.#isBottomless || this.#isPaused) return;
      const content = this.#queue[0];
      if (content === undefined || !this.#hooks.arrives(content)) return;
      this.#queue.shift();
      this.#bytes -= sizeOf(content);
      if (typeof content === 'string') this.#listener?.message(content);
      else this.#listener?.binary(content);
      this.#hooks.arrived(content);
    }
    if (this.#bytes <= lowWaterBytes) this.#gate.open();
    if (this.#state === 'ending' && this.#queue.length === 0) {
      this.drop();
      this.#finished();
      return;
    }
    this.#plan();
  }
}

/**
 * The size that a message counts as. The answer to `initialize` depends on the machine that runs the simulation, so it counts the same
 * everywhere.
 */
function sizeOf(content: Content): number {
  if (typeof content !== 'string') return content.length;
  return content.includes('"environmentInfo"') ? 512 : content.length;
}
