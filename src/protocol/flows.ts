// Flows: numbered two-way byte streams of a session, next to its calls. Each direction has an offset that both sides agree on, so a flow
// continues after a lost connection without a missing or repeated byte.
//
// The binary frame, for peers that agreed to binary output; the other form is the notification `flow/data`:
//
//   0  u8   3
//   1  u32  flow id
//   5  u48  offset of the first byte
//   11 …    the bytes

import * as v from 'valibot';
import { bytes } from './bytes.js';

const kindOfFrame = 3;
const headerBytes = 11;
const high = 2 ** 32;

export const flowId = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(1),
  v.maxValue(2 ** 31 - 1),
  v.description('Chosen by the client; never used again in the session'),
);

/** Bytes of one direction of a flow that came before. */
const flowOffset = v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(2 ** 48 - 1));

/** Longest frame of a flow, in bytes of content: short enough that replies never wait long behind one. */
export const flowFrameBytes = 64 * 1024;

/** Bytes that one side of a flow may send before the other has acknowledged them. Fills a fast link, and bounds the memory for a reader that has stopped. */
export const flowWindowBytes = 1024 * 1024;

/** A receiver acknowledges at the latest after this many bytes, so that the sender never runs dry. */
export const flowAcknowledgeBytes = flowWindowBytes / 4;

const byFlow = { flowId };

export const flowNotifications = {
  'flow/data': {
    from: 'both',
    summary: 'Bytes of a flow; sent as a binary frame to peers that agreed to binary output.',
    params: v.object({ ...byFlow, offset: flowOffset, chunk: bytes }),
  },
  'flow/ack': {
    from: 'both',
    summary: 'The reader of a flow has taken everything before this offset, so as much again may be sent.',
    params: v.object({ ...byFlow, offset: flowOffset }),
  },
  'flow/end': {
    from: 'both',
    summary: 'One direction of a flow is complete at this offset; the other may go on.',
    params: v.object({ ...byFlow, offset: flowOffset }),
  },
  'flow/reset': {
    from: 'both',
    summary: 'Ends both directions of a flow before they are complete.',
    params: v.object({ ...byFlow, problem: v.string() }),
  },
} as const;

export interface FlowFrame {
  readonly flowId: number;
  readonly offset: number;
  /** A view on the frame. */
  readonly chunk: Uint8Array;
}

export function flowFrameHead(flow: number, offset: number): Uint8Array {
  const head = new Uint8Array(headerBytes);
  const view = new DataView(head.buffer);
  view.setUint8(0, kindOfFrame);
  view.setUint32(1, flow);
  view.setUint16(5, Math.floor(offset / high));
  view.setUint32(7, offset % high);
  return head;
}

/** Undefined if the bytes are not such a frame. */
export function decodeFlowFrame(frame: Uint8Array): FlowFrame | undefined {
  if (frame.length < headerBytes || frame[0] !== kindOfFrame) return undefined;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const offset = view.getUint16(5) * high + view.getUint32(7);
  return { flowId: view.getUint32(1), offset, chunk: frame.subarray(headerBytes) };
}
