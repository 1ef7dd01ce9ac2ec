// The pings of a WebSocket, both ways (RFC 6455 §5.5.2 and §5.5.3): asks the peer for signs of life, and answers it without piling up.

import type { Duplex } from 'node:stream';
import { type MaskingKeys, pingFrame, pongFrame } from './websocket-frame.js';

export class Heartbeat {
  readonly #socket: Duplex;
  readonly #keys: MaskingKeys | undefined;
  #hasHeard = true;
  #unansweredPings = 0;
  /** `queued` while the last ping is behind bytes that the peer has not taken. */
  #ping: 'sent' | 'queued' = 'sent';
  #pong: { readonly kind: 'sent' } | { readonly kind: 'queued'; readonly next: Uint8Array | undefined } = { kind: 'sent' };

  constructor(socket: Duplex, keys: MaskingKeys | undefined) {
    this.#socket = socket;
    this.#keys = keys;
  }

  /** Something has come from the peer, or we keep it from coming. */
  heard(): void {
    this.#hasHeard = true;
  }

  /**
   * To be called at regular intervals; false when there was no sign of life since `maxUnanswered` calls. Calls are counted and not time, so
   * that a peer is not blamed for a server that stood still.
   */
  ping(maxUnanswered: number): boolean {
    this.#unansweredPings = this.#hasHeard ? 0 : this.#unansweredPings + 1;
    if (this.#unansweredPings >= maxUnanswered) return false;
    this.#hasHeard = false;
    if (this.#ping === 'queued') return true;
    this.#ping = 'queued';
    this.#socket.write(pingFrame(this.#keys), () => (this.#ping = 'sent'));
    return true;
  }

  /** While an answer is queued, only the latest ping gets another one, as §5.5.3 allows. */
  answer(payload: Uint8Array): void {
    if (this.#pong.kind === 'queued') {
      this.#pong = { kind: 'queued', next: payload };
      return;
    }
    this.#pong = { kind: 'queued', next: undefined };
    this.#socket.write(pongFrame(payload, this.#keys), () => {
      const next = this.#pong.kind === 'queued' ? this.#pong.next : undefined;
      this.#pong = { kind: 'sent' };
      if (next !== undefined) this.answer(next);
    });
  }
}
