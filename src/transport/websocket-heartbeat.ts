// WebSocket pings in both directions (RFC 6455 §5.5.2 and §5.5.3): probes the peer, and answers its pings without piling up pongs.

import type { Outbox } from './outbox.js';
import { type MaskingKeys, pingFrame, pongFrame } from './websocket-frame.js';

export class Heartbeat {
  readonly #outbox: Outbox;
  readonly #keys: MaskingKeys | undefined;
  #wasActive = true;
  #unansweredPings = 0;
  /** `queued` while the last ping waits behind bytes that the peer has not read. */
  #ping: 'sent' | 'queued' = 'sent';
  #pong: { readonly kind: 'sent' } | { readonly kind: 'queued'; readonly next: Uint8Array | undefined } = { kind: 'sent' };

  constructor(outbox: Outbox, keys: MaskingKeys | undefined) {
    this.#outbox = outbox;
    this.#keys = keys;
  }

  /** To be called when the peer has sent something, or while we are not reading and so cannot know. */
  noteActivity(): void {
    this.#wasActive = true;
  }

  /**
   * To be called at regular intervals; false when the peer has shown no sign of life for `maxUnanswered` calls. Counts calls instead of
   * time, so that a peer is not cut off because this server stalled.
   */
  ping(maxUnanswered: number): boolean {
    this.#unansweredPings = this.#wasActive ? 0 : this.#unansweredPings + 1;
    if (this.#unansweredPings >= maxUnanswered) return false;
    this.#wasActive = false;
    if (this.#ping === 'queued') return true;
    this.#ping = 'queued';
    this.#outbox.write(pingFrame(this.#keys), () => (this.#ping = 'sent'));
    return true;
  }

  /** While a pong is queued, only the latest ping is answered next, as §5.5.3 allows. */
  answer(payload: Uint8Array): void {
    if (this.#pong.kind === 'queued') {
      this.#pong = { kind: 'queued', next: payload };
      return;
    }
    this.#pong = { kind: 'queued', next: undefined };
    this.#outbox.write(pongFrame(payload, this.#keys), () => {
      const next = this.#pong.kind === 'queued' ? this.#pong.next : undefined;
      this.#pong = { kind: 'sent' };
      if (next !== undefined) this.answer(next);
    });
  }
}
