// A connection on which HTTP is written by hand, and what the server sends back.

import assert from 'node:assert/strict';
import { type Socket, connect } from 'node:net';
import { eventually } from './eventually.js';

export class HttpClient implements Disposable {
  readonly #socket: Socket;
  #received = '';
  #isClosed = false;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay();
    this.#socket.on('data', (piece: Buffer) => (this.#received += piece.toString('latin1')));
    this.#socket.on('error', () => {}); // the server may hang up at any time
    this.#socket.on('close', () => (this.#isClosed = true));
  }

  /** Everything the server has sent so far. */
  get said(): string {
    return this.#received;
  }

  /** The status of every answer so far. */
  get statuses(): number[] {
    return [...this.#received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  send(text: string): void {
    this.#socket.write(Buffer.from(text, 'latin1'));
  }

  /** Sends the text and ends this side of the connection. */
  end(text: string): void {
    this.#socket.end(Buffer.from(text, 'latin1'));
  }

  /** Waits for exactly these answers. */
  async answered(...statuses: number[]): Promise<void> {
    await eventually(() => assert.deepEqual(this.statuses, statuses));
  }

  /** Waits for the server to close the connection after exactly these answers. */
  async closed(...statuses: number[]): Promise<void> {
    await eventually(() => assert.ok(this.#isClosed, `open after ${this.statuses.join(', ')}`));
    assert.deepEqual(this.statuses, statuses);
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
