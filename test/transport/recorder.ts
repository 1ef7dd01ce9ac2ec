// Records everything that arrives, in order, in a form that is easy to compare and print.

import type { ChannelListener } from '#src/rpc/channel.js';

/** A string is a text message; bytes are in hexadecimal. */
export type Arrival = string | { readonly binary: string } | { readonly unreadable: string };

export class Recorder implements ChannelListener {
  readonly arrivals: Arrival[] = [];

  message(text: string): void {
    this.arrivals.push(text);
  }

  binary(frame: Uint8Array): void {
    this.arrivals.push({ binary: Buffer.from(frame).toString('hex') });
  }

  unreadable(problem: string): void {
    this.arrivals.push({ unreadable: problem });
  }
}
