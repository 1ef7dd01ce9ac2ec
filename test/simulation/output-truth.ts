// What a program's readers must see, and the two judges of what they do see: an owner gets everything, a viewer is told of gaps.

import type { ProcessEvent, Seq, Stream } from '#src/protocol/index.js';
import { bytesAt, saltOf } from './script.js';

/** Longest chunk, as the protocol has it. */
const chunkBytes = 64 * 1024;

interface Entry {
  readonly seq: Seq;
  readonly stream: Stream;
  /** In its stream. */
  readonly at: number;
  /** Over all streams. */
  readonly offset: number;
  readonly length: number;
}

/** The log as it must be: what was handed over, in the order it was. */
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

  /** Bytes before an entry that comes, or would come, with this number. */
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

  /** What is wrong with a chunk of this number; undefined when it is right. */
  problemWith(seq: Seq, stream: Stream, chunk: Uint8Array): string | undefined {
    const entry = this.#entries.get(seq);
    if (entry === undefined) return `chunk ${seq} was never written`;
    if (entry.stream !== stream || entry.length !== chunk.length) {
      return `chunk ${seq} is ${chunk.length} bytes of ${stream}, and was ${entry.length} of ${entry.stream}`;
    }
    return this.isRight(stream, entry.at, chunk) ? undefined : `chunk ${seq} of ${stream} has other bytes than were written`;
  }

  /** Whether a stream has these bytes at this place. Any number of them. */
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
  /** It began after a number alone, which may lie inside a hole, of which the whole is told then, once. */
  #mayBeToldMore: boolean;
  #isExact = true;
  #hasExited = false;
  #hasClosed = false;

  constructor(role: 'owner' | 'viewer', truth: OutputTruth, afterSeq: Seq = 0) {
    this.#role = role;
    this.#truth = truth;
    this.#lastSeq = afterSeq;
    this.#gotBytes = truth.endOf(afterSeq);
    this.#mayBeToldMore = afterSeq > 0;
    this.#hasExited = truth.exitedSeq !== undefined && truth.exitedSeq <= afterSeq;
  }

  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  get lastSeq(): Seq {
    return this.#lastSeq;
  }

  problemWith(event: ProcessEvent): string | undefined {
    if (this.#hasClosed) return `${event.type} ${event.seq} comes after closed`;
    const problem = this.#problemWithOrder(event) ?? this.#problemWithContent(event);
    this.#lastSeq = event.seq;
    return problem;
  }

  #problemWithOrder({ type, seq, droppedBytes = 0 }: ProcessEvent): string | undefined {
    if (seq <= this.#lastSeq) return `${type} ${seq} comes after ${this.#lastSeq}`;
    if (this.#role === 'owner') {
      if (seq !== this.#lastSeq + 1) return `${type} ${seq} comes after ${this.#lastSeq}, something is missing`;
      return droppedBytes === 0 ? undefined : `an owner is told that ${droppedBytes} bytes are missing`;
    }
    const missing = this.#truth.offsetOf(seq) - this.#truth.endOf(this.#lastSeq);
    this.#droppedBytes += droppedBytes;
    const isWholeHole = this.#mayBeToldMore && droppedBytes > missing && droppedBytes <= this.#truth.offsetOf(seq);
    this.#mayBeToldMore = false;
    if (droppedBytes === missing) return undefined;
    this.#isExact = false;
    if (isWholeHole) return undefined;
    return `${type} ${seq} says that ${droppedBytes} bytes are missing before it, and ${missing} are`;
  }

  #problemWithContent(event: ProcessEvent): string | undefined {
    switch (event.type) {
      case 'output':
        this.#gotBytes += event.chunk.length;
        return this.#truth.problemWith(event.seq, event.stream, event.chunk);
      case 'exited':
        if (this.#hasExited) return 'exited comes twice';
        this.#hasExited = true;
        return undefined;
      case 'closed': {
        this.#hasClosed = true;
        if (!this.#hasExited) return 'closed comes before exited';
        const total = this.#gotBytes + this.#droppedBytes;
        if (!this.#isExact || total === this.#truth.totalBytes) return undefined;
        return `${this.#gotBytes} bytes came and ${this.#droppedBytes} were said to be missing, of ${this.#truth.totalBytes}`;
      }
    }
  }
}
