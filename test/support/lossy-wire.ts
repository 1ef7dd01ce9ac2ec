// Two tables of flows with a wire in between that delivers message by message, lags, and can be cut. What is on it when it is cut is lost.

import type { Flow, FlowLimits, FlowPeer } from '#src/rpc/flow.js';
import { FlowTable } from '#src/rpc/flow-table.js';

type Side = 'client' | 'server';
type Deliver = (receiver: FlowPeer) => void;

export class LossyWire {
  readonly tables: Readonly<Record<Side, FlowTable>>;
  readonly #lanes: Record<Side, Deliver[]> = { client: [], server: [] };
  #wakers: (() => void)[] = [];
  /** Messages in one direction from which on the sender is told that the peer lags. */
  readonly #lagsAt: number;
  /** Every message sent so far, such as `server data 1 0 5`: to which side, what, flow, offset and length. */
  readonly sent: string[] = [];

  constructor(limits: FlowLimits, { lagsAt = Infinity }: { readonly lagsAt?: number } = {}) {
    this.tables = { client: new FlowTable(limits), server: new FlowTable(limits) };
    this.#lagsAt = lagsAt;
    this.tables.client.attach(this.#peer('server'));
    this.tables.server.attach(this.#peer('client'));
  }

  /** Opens both ends of a flow, as a call does. */
  open(id: number): Readonly<Record<Side, Flow>> {
    return { client: this.tables.client.open(id), server: this.tables.server.open(id) };
  }

  /** Delivers the next messages to one side; all of them when there is no count. Returns how many there were. */
  deliver(to: Side, count = Infinity): number {
    const due = this.#lanes[to].splice(0, count);
    for (const message of due) message(this.tables[to]);
    this.#wakers.splice(0).forEach((wake) => wake());
    return due.length;
  }

  /** Delivers until nothing is on the wire. */
  deliverAll(): void {
    while (this.deliver('client') + this.deliver('server') > 0);
  }

  /** Loses what is on the wire and connects both sides again, as a resumed session does. */
  reconnect(): void {
    this.disconnect();
    const asked = this.tables.client.receivedBytes();
    const known = new Map([...this.tables.server.receivedBytes()].filter(([id]) => asked.has(id)));
    this.tables.server.attach(this.#peer('client'), asked);
    this.tables.client.attach(this.#peer('server'), known);
  }

  disconnect(): void {
    this.tables.client.detach();
    this.tables.server.detach();
    this.#lanes.client = [];
    this.#lanes.server = [];
    this.#wakers.splice(0).forEach((wake) => wake());
  }

  #peer(to: Side): FlowPeer {
    const lane = this.#lanes[to];
    const send = (words: readonly (string | number)[], deliver: Deliver): boolean => {
      this.sent.push([to, ...words].join(' '));
      lane.push(deliver);
      return lane.length < this.#lagsAt;
    };
    return {
      data: (id, offset, bytes) => {
        const copy = bytes.slice(); // as on any wire: what the sender does with its memory afterwards must not matter
        return send(['data', id, offset, bytes.length], (peer) => void peer.data(id, offset, copy));
      },
      acknowledge: (id, offset) => void send(['ack', id, offset], (peer) => peer.acknowledge(id, offset)),
      end: (id, offset) => void send(['end', id, offset], (peer) => peer.end(id, offset)),
      reset: (id, problem) => void send(['reset', id, problem], (peer) => peer.reset(id, problem)),
      ready: () => new Promise((resolve) => this.#wakers.push(() => resolve())),
    };
  }
}
