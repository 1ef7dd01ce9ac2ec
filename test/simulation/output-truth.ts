// What a program's readers must see, and the judge of what they do see: an owner gets everything, a viewer may miss output but gets exact
// gap sizes.

import type { ProcessEvent, Seq, Stream } from '#src/protocol/index.js';
import { bytesAt, saltOf } from './script.js';

/** Longest chunk that the protocol allows. */
const chunkBytes = 64 * 1024;

interface Entry {
  readonly seq: Seq;
  readonly stream: Stream;
  /** Offset within its stream. */
  readonly at: number;
  /** Offset over all streams. */
  readonly offset: number;
  readonly length: number;
}

/** The log as it must be: what the backend passed on, in that order. */
export class OutputTruth {
  readonly #serial: number;
  readonly #entries = new Map<Seq, Entry>();
  readonly #streams = new Map<Stream, number>();
  #lastSeq: Seq = 0;
  #exitedSeq: Seq | undefined;
  #totalBytes = 0;

  constructor(serial: number) {
    this.#serial = serial;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  get lastSeq(): Seq {
    return this.#lastSeq;
  }

  get exitedSeq(): Seq | undefined {
    return this.#exitedSeq;
  }

  streamBytes(stream: Stream): number {
    return this.#streams.get(stream) ?? 0;
  }

  handedOver(stream: Stream, bytes: number): void {
    for (let rest = bytes; rest > 0; rest -= chunkBytes) {
      const at = this.streamBytes(stream);
      const length = Math.min(rest, chunkBytes);
      this.#lastSeq += 1;
      this.#entries.set(this.#lastSeq, { seq: this.#lastSeq, stream, at, offset: this.#totalBytes, length });
      this.#streams.set(stream, at + length);
      this.#totalBytes += length;
    }
  }

  exited(): void {
    this.#lastSeq += 1;
    this.#exitedSeq = this.#lastSeq;
  }

  /** Bytes before the entry that has, or would have, this sequence number. */
  offsetOf(seq: Seq): number {
    for (let at = seq; at <= this.#lastSeq; at += 1) {
      const entry = this.#entries.get(at);
      if (entry !== undefined) return entry.offset;
    }
    return this.#totalBytes;
  }

  endOf(seq: Seq): number {
    return this.offsetOf(seq + 1);
  }

  /** What is wrong with a chunk of this sequence number; undefined if it is correct. */
  problemWith(seq: Seq, stream: Stream, chunk: Uint8Array): string | undefined {
    const entry = this.#entries.get(seq);
    if (entry === undefined) return `chunk ${seq} was never written`;
    if (entry.stream !== stream || entry.length !== chunk.length) {
      return `chunk ${seq} is ${chunk.length} bytes of ${stream}, but was ${entry.length} of ${entry.stream}`;
    }
    return this.isRight(stream, entry.at, chunk) ? undefined : `chunk ${seq} of ${stream} differs from what was written`;
  }

  /** Whether a stream has these bytes at this offset. Any number of bytes. */
  isRight(stream: Stream, at: number, bytes: Uint8Array): boolean {
    if (at + bytes.length > this.streamBytes(stream)) return false;
    for (let done = 0; done < bytes.length; done += chunkBytes) {
      const part = bytes.subarray(done, done + chunkBytes);
      if (Buffer.compare(part, bytesAt(saltOf(this.#serial, stream), at + done, part.length)) !== 0) return false;
    }
    return true;
  }
}

/** Judges what one reader takes, event by event. */
export class Judge {
  readonly #role: 'owner' | 'viewer';
  readonly #truth: OutputTruth;
  #lastSeq: Seq;
  #gotBytes = 0;
  #droppedBytes = 0;
  /**
   * The reader began after a sequence number that may lie inside an evicted range; the size of the whole range may then be reported, once.
   */
  #mayReportMore: boolean;
  #isExact = true;
  #hasExited = false;
  #hasClosed = false;

  constructor(role: 'owner' | 'viewer', truth: OutputTruth, afterSeq: Seq = 0) {
    this.#role = role;
    this.#truth = truth;
    this.#lastSeq = afterSeq;
    this.#gotBytes = truth.endOf(afterSeq);
    this.#mayReportMore = afterSeq > 0;
    this.#hasExited = truth.exitedSeq !== undefined && truth.exitedSeq <= afterSeq;
  }

  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  get lastSeq(): Seq {
    return this.#lastSeq;
  }

  problemWith(event: ProcessEvent): string | undefined {
    if (this.#hasClosed) return `${event.type} ${event.seq} arrives after closed`;
    const problem = this.#problemWithOrder(event) ?? this.#problemWithContent(event);
    this.#lastSeq = event.seq;
    return problem;
  }

  #problemWithOrder({ type, seq, droppedBytes = 0 }: ProcessEvent): string | undefined {
    if (seq <= this.#lastSeq) return `${type} ${seq} arrives after ${this.#lastSeq}`;
    if (this.#role === 'owner') {
      if (seq !== this.#lastSeq + 1) return `${type} ${seq} arrives after ${this.#lastSeq}, so something is missing`;
      return droppedBytes === 0 ? undefined : `an owner gets a gap of ${droppedBytes} bytes`;
    }
    const missing = this.#truth.offsetOf(seq) - this.#truth.endOf(this.#lastSeq);
    this.#droppedBytes += droppedBytes;
    const isWholeHole = this.#mayReportMore && droppedBytes > missing && droppedBytes <= this.#truth.offsetOf(seq);
    this.#mayReportMore = false;
    if (droppedBytes === missing) return undefined;
    this.#isExact = false;
    if (isWholeHole) return undefined;
    return `${type} ${seq} reports ${droppedBytes} missing bytes before it, but ${missing} are missing`;
  }

  #problemWithContent(event: ProcessEvent): string | undefined {
    switch (event.type) {
      case 'output':
        this.#gotBytes += event.chunk.length;
        return this.#truth.problemWith(event.seq, event.stream, event.chunk);
      case 'exited':
        if (this.#hasExited) return 'exited arrives twice';
        this.#hasExited = true;
        return undefined;
      case 'closed': {
        this.#hasClosed = true;
        if (!this.#hasExited) return 'closed arrives before exited';
        const total = this.#gotBytes + this.#droppedBytes;
        if (!this.#isExact || total === this.#truth.totalBytes) return undefined;
        return `${this.#gotBytes} bytes arrived and ${this.#droppedBytes} were reported missing, of ${this.#truth.totalBytes}`;
      }
    }
  }
}
