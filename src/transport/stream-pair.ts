// A Channel over streams that the caller has opened, such as an ssh2 channel, a vsock or an attached container.

import { Readable, Writable } from 'node:stream';
import type { ReadableStream, WritableStream } from 'node:stream/web';
import { type Clock, systemClock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { StreamChannel } from './stream-channel.js';

/** Carries one message per line in each direction. The channel made from them owns both streams and closes them. */
export interface StreamPair {
  /** What the peer sends, as bytes. */
  readonly readable: Readable | ReadableStream<Uint8Array>;
  /** What the peer receives, as bytes. The same object as `readable` when they are one socket. */
  readonly writable: Writable | WritableStream<Uint8Array>;
  /** Names the other end in errors and logs, so it must not contain a secret. `streams` when absent. */
  readonly peer?: string;
}

export interface ChannelOverOptions {
  readonly maxMessageBytes: number;
  readonly clock?: Clock | undefined;
}

/** Returns a channel unchanged. Throws when the members are not streams or have already ended. */
export function channelOver(target: Channel | StreamPair, { maxMessageBytes, clock = systemClock }: ChannelOverOptions): Channel {
  if ('listen' in target) return target;
  const { readable, writable, peer = 'streams' } = target;
  return new StreamChannel({ readable: nodeReadable(readable), writable: nodeWritable(writable), peer, maxMessageBytes, clock });
}

function nodeReadable(given: StreamPair['readable']): Readable {
  const readable = isWebStream(given, 'getReader') ? Readable.fromWeb(given) : given;
  if (typeof readable?.on !== 'function') throw new TypeError(`readable must be a readable stream, got ${typeof readable}`);
  if (readable.destroyed || readable.readableEnded) throw new Error('the readable stream has already ended');
  if (readable.readableObjectMode || readable.readableEncoding !== null) {
    throw new TypeError('the readable stream must yield bytes, not objects or text');
  }
  return readable;
}

function nodeWritable(given: StreamPair['writable']): Writable {
  const writable = isWebStream(given, 'getWriter') ? Writable.fromWeb(given) : given;
  if (typeof writable?.on !== 'function') throw new TypeError(`writable must be a writable stream, got ${typeof writable}`);
  if (!writable.writable) throw new Error('the writable stream has already ended');
  return writable;
}

function isWebStream<T extends object>(given: T, member: string): given is Extract<T, ReadableStream | WritableStream> {
  return typeof given === 'object' && given !== null && member in given;
}
