// Encodes process/output as JSON, or as binary for peers that agreed to it, which saves base64 for every chunk.
//
// The binary frame:
//
//   0  u8   stream: 0 stdout, 1 stderr, 2 pty
//   1  u16  length of the process id in bytes
//   3  u48  seq
//   9  u48  bytes missing just before this chunk
//   15 …    process id, UTF-8; then the chunk

import type { Notification } from './methods.js';
import { type ProcessId, asProcessId } from './ids.js';

/** The contents of a binary frame. */
export type Output = Notification<'process/output'>;

const streams = ['stdout', 'stderr', 'pty'] as const;
const headerBytes = 15;
const high = 2 ** 32;

/** An id may begin with a byte order mark, which is part of the id. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** The JSON messages for one process's chunks, in parts: the chunk stays as bytes, because the channel encodes it when sending. */
export class OutputMessages {
  readonly #head: string;

  constructor(processId: ProcessId) {
    this.#head = `{"method":"process/output","params":{"processId":${JSON.stringify(processId)},"seq":`;
  }

  next({ seq, stream, chunk, droppedBytes = 0 }: Omit<Output, 'processId'>): readonly [string, Uint8Array, string] {
    const dropped = droppedBytes === 0 ? '' : `,"droppedBytes":${droppedBytes}`;
    return [`${this.#head}${seq},"stream":"${stream}"${dropped},"chunk":"`, chunk, '"}}'];
  }
}

/** The heads of one process's frames; the chunk follows each head unchanged. */
export class OutputFrameHeads {
  readonly #id: Uint8Array;

  constructor(processId: ProcessId) {
    this.#id = new TextEncoder().encode(processId);
  }

  next({ seq, stream, droppedBytes = 0 }: Omit<Output, 'processId' | 'chunk'>): Uint8Array {
    const head = new Uint8Array(headerBytes + this.#id.length);
    const view = new DataView(head.buffer);
    view.setUint8(0, streams.indexOf(stream));
    view.setUint16(1, this.#id.length);
    view.setUint16(3, Math.floor(seq / high));
    view.setUint32(5, seq % high);
    view.setUint16(9, Math.floor(droppedBytes / high));
    view.setUint32(11, droppedBytes % high);
    head.set(this.#id, headerBytes);
    return head;
  }
}

/** Undefined if the bytes are not such a frame. The chunk is a view on the frame. */
export function decodeOutputFrame(frame: Uint8Array): Output | undefined {
  if (frame.length < headerBytes) return undefined;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const stream = streams[view.getUint8(0)];
  const chunkAt = headerBytes + view.getUint16(1);
  if (stream === undefined || chunkAt > frame.length) return undefined;
  const droppedBytes = view.getUint16(9) * high + view.getUint32(11);
  return {
    processId: asProcessId(utf8.decode(frame.subarray(headerBytes, chunkAt))),
    seq: view.getUint16(3) * high + view.getUint32(5),
    stream,
    chunk: frame.subarray(chunkAt),
    ...(droppedBytes === 0 ? {} : { droppedBytes }),
  };
}
