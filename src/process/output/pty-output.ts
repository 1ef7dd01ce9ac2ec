// Reads a terminal's master side without losing the end of the output. The slave is held open, so that no hang-up can occur while the
// leader lives; after its death, a marker written into the slave queues up behind everything that the leader wrote.

import { randomBytes } from 'node:crypto';
import { closeSync, readSync, writeSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import type { Clock, Timer } from '../../base/clock.js';
import type { ChildEvents, ChildOutput } from '../child.js';
import { errnoOf } from '../start/spawn-failure.js';

/** Delay between attempts while the terminal has no room for the marker. */
const markerRetryMs = 2;

/** After this long without room, the terminal is stopped (Ctrl-S) or flooded by a descendant; Ctrl-Q may restart it. */
const markerUnblockMs = 100;

/** After this long, give up proving that all of the leader's output has been read. */
const markerTimeoutMs = 2_000;

/** Ctrl-Q, which resumes a stopped terminal. */
const startCharacter = Buffer.from([0x11]);

export interface PtyDescriptors {
  /** Non-blocking. Owned by the `PtyOutput`. */
  readonly master: number;
  /** Non-blocking, close-on-exec, opened with O_NOCTTY. Owned by the `PtyOutput`. */
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
      // Half-open, so that the descriptor stays open when the reader sees the end: see #readerEnded.
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
    this.#reader.on('error', () => {}); // a terminal ends with EIO; 'close' follows
    this.#reader.on('close', () => this.#finish());
    this.#reader.resume();
  }

  /** `listener` is called whenever output arrives, which is when the terminal may have room for input again. */
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
    // No lowercase letter, line end or tab: the terminal may be set to translate those (stty olcuc).
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
    if (waitedMs >= markerTimeoutMs) return this.#giveUp(left);
    if (left.length > 0 && waitedMs > markerUnblockMs) this.#unblock();
    // Once the whole marker is written, this is only the timeout.
    this.#timer = this.#clock.after(left.length > 0 ? markerRetryMs : markerTimeoutMs, () => this.#writeMarker(left, since));
  }

  /** The part of the marker that was written still arrives later, and is then removed from the output. */
  #giveUp(unwritten: Buffer): void {
    const written = this.#marker?.subarray(0, this.#marker.length - unwritten.length);
    const begun = this.#carry;
    this.#carry = Buffer.alloc(0);
    this.#leaderDrained(false);
    if (written === undefined || written.equals(begun)) return; // all of it has arrived
    this.#marker = written;
    this.#carry = begun;
  }

  #unblock(): void {
    try {
      writeSync(this.#master, startCharacter);
    } catch {
      // Best effort: if it fails, the timeout applies.
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

  /** Closes the slave: from now on the terminal stays open only while a descendant holds it. */
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

  /** libuv before 1.52 treats a hang-up together with a short read as the end; this reads what the kernel still holds. */
  #readerEnded(): void {
    const buffer = Buffer.alloc(65_536);
    for (;;) {
      let length = 0;
      try {
        length = readSync(this.#master, buffer);
      } catch {
        break; // EIO: no process holds the other side any longer
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

/** How many bytes at the end of `seen` may be the beginning of `marker`. */
function overlapLength(seen: Buffer, marker: Buffer): number {
  for (let length = Math.min(seen.length, marker.length - 1); length > 0; length -= 1) {
    if (seen.subarray(seen.length - length).equals(marker.subarray(0, length))) return length;
  }
  return 0;
}
