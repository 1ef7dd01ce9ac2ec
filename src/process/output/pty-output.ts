// Reads a terminal's master side without losing its end. The slave is held open, so that no hang-up can come while the leader
// lives; when it has died, a marker written into the slave queues up behind everything the leader wrote.

import { randomBytes } from 'node:crypto';
import { closeSync, readSync, writeSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import type { Clock, Timer } from '../../base/clock.js';
import type { ChildEvents, ChildOutput } from '../child.js';
import { errnoOf } from '../start/spawn-failure.js';

/** How often to try again when the terminal has no room for the marker. */
const markerRetryMs = 2;

/** After this long without room the terminal is stopped (Ctrl-S) or flooded by a descendant; a Ctrl-Q may set it going. */
const markerUnblockMs = 100;

/** After this long the end of the leader's output cannot be proven any more. */
const markerPatienceMs = 2_000;

/** What a terminal takes as "go on printing", Ctrl-Q. */
const startCharacter = Buffer.from([0x11]);

export interface PtyDescriptors {
  /** Non-blocking. Owned by the output from here on. */
  readonly master: number;
  /** Non-blocking, close-on-exec, not anybody's controlling terminal. Owned by the output. */
  readonly slave: number;
}

export class PtyOutput implements ChildOutput {
  readonly #events: Pick<ChildEvents, 'output' | 'ended'>;
  readonly #clock: Clock;
  readonly #master: number;
  readonly #reader: ReadStream;
  #slave: number | undefined;
  #held = false;
  #marker: Buffer | undefined;
  #carry = Buffer.alloc(0);
  #drained: ((outputComplete: boolean) => void) | undefined;
  #timer: Timer | undefined;
  #isOver = false;
  #onActivity: () => void = () => {};

  constructor(
    fds: PtyDescriptors,
    events: Pick<ChildEvents, 'output' | 'ended'>,
    context: { clock: Clock; readBuffer: Uint8Array },
  ) {
    this.#events = events;
    this.#clock = context.clock;
    this.#master = fds.master;
    this.#slave = fds.slave;
    const options = {
      // Half-open, so that an end seen by the reader leaves the descriptor to us: see #readerEnded.
      allowHalfOpen: true,
      onread: {
        buffer: context.readBuffer,
        callback: (length: number, buffer: Uint8Array) => {
          this.#received(buffer.subarray(0, length));
          return true;
        },
      },
    };
    this.#reader = new ReadStream(fds.master, options);
    this.#reader.on('end', () => this.#readerEnded());
    this.#reader.on('error', () => {}); // EIO is how a terminal ends; 'close' follows
    this.#reader.on('close', () => this.#finish());
    this.#reader.resume();
  }

  /** Called whenever output comes: a moment at which the terminal may also have room for input. */
  onActivity(listener: () => void): void {
    this.#onActivity = listener;
  }

  hold(): void {
    this.#held = true;
    if (this.#drained === undefined) this.#reader.pause();
  }

  resume(): void {
    this.#held = false;
    this.#reader.resume();
  }

  drainLeader(drained: (outputComplete: boolean) => void): void {
    if (this.#isOver) return drained(true);
    this.#drained = drained;
    // No small letter, line end or tab: the terminal may be set to print those as something else (stty olcuc).
    this.#marker = Buffer.from(`\u001b_${randomBytes(12).toString('hex').toUpperCase()}\u001b\\`);
    this.#reader.resume();
    this.#writeMarker(this.#marker, this.#clock.elapsed());
  }

  close(): void {
    if (this.#isOver) return;
    this.#reader.destroy();
    this.#finish();
  }

  #writeMarker(rest: Buffer, since: number): void {
    if (this.#slave === undefined || this.#marker === undefined) return;
    let written = 0;
    try {
      written = writeSync(this.#slave, rest);
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN') return this.#giveUp(rest);
    }
    const left = rest.subarray(written);
    const waitedMs = this.#clock.elapsed() - since;
    if (waitedMs >= markerPatienceMs) return this.#giveUp(left);
    if (left.length > 0 && waitedMs > markerUnblockMs) this.#unblock();
    // Once all of it is written this only watches over the patience.
    this.#timer = this.#clock.after(left.length > 0 ? markerRetryMs : markerPatienceMs, () => this.#writeMarker(left, since));
  }

  /** What was written of the marker comes all the same, later, and is taken out. */
  #giveUp(unwritten: Buffer): void {
    const written = this.#marker?.subarray(0, this.#marker.length - unwritten.length);
    const begun = this.#carry;
    this.#carry = Buffer.alloc(0);
    this.#leaderDrained(false);
    if (written === undefined || written.equals(begun)) return; // all of it has come
    this.#marker = written;
    this.#carry = begun;
  }

  #unblock(): void {
    try {
      writeSync(this.#master, startCharacter);
    } catch {
      // Only a try: when it fails, patience runs out.
    }
  }

  #received(bytes: Uint8Array): void {
    if (this.#marker === undefined) this.#events.output('pty', bytes);
    else this.#searchMarker(this.#marker, bytes);
    this.#onActivity();
  }

  #searchMarker(marker: Buffer, bytes: Uint8Array): void {
    const seen = Buffer.concat([this.#carry, bytes]);
    const at = seen.indexOf(marker);
    const end = at >= 0 ? at : seen.length - overlapLength(seen, marker);
    if (end > 0) this.#events.output('pty', seen.subarray(0, end));
    this.#carry = seen.subarray(end);
    if (at < 0) return;
    this.#carry = Buffer.alloc(0);
    this.#marker = undefined;
    this.#leaderDrained(true);
    const after = seen.subarray(at + marker.length);
    if (after.length > 0) this.#events.output('pty', after);
  }

  /** From here on the terminal lives only as long as a descendant holds it. */
  #leaderDrained(outputComplete: boolean): void {
    const drained = this.#drained;
    if (drained === undefined) return;
    this.#drained = undefined;
    this.#marker = undefined;
    this.#timer?.cancel();
    this.#flushCarry();
    this.#closeSlave();
    if (this.#held) this.hold();
    drained(outputComplete);
  }

  /** libuv before 1.52 takes a hang-up together with a short read for the end; what the kernel still has is read here. */
  #readerEnded(): void {
    const buffer = Buffer.alloc(65_536);
    for (;;) {
      let length = 0;
      try {
        length = readSync(this.#master, buffer);
      } catch {
        break; // EIO: nobody holds the other side any more
      }
      if (length === 0) break;
      this.#received(buffer.subarray(0, length));
    }
    this.#reader.destroy();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leaderDrained(false);
    this.#flushCarry();
    this.#closeSlave();
    this.#timer?.cancel();
    this.#events.ended();
  }

  #flushCarry(): void {
    if (this.#carry.length > 0) this.#events.output('pty', this.#carry);
    this.#carry = Buffer.alloc(0);
  }

  #closeSlave(): void {
    if (this.#slave !== undefined) closeSync(this.#slave);
    this.#slave = undefined;
  }
}

/** How many bytes at the end of `seen` could be the beginning of `marker`. */
function overlapLength(seen: Buffer, marker: Buffer): number {
  for (let length = Math.min(seen.length, marker.length - 1); length > 0; length -= 1) {
    if (seen.subarray(seen.length - length).equals(marker.subarray(0, length))) return length;
  }
  return 0;
}
