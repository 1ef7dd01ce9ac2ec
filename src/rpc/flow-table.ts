// The open flows of one side of a session. It is the peer of the table on the other side: over a wire with messages in between, and in
// one program directly.

import { Flow, type FlowLimits, type FlowPeer } from './flow.js';

export class FlowTable implements FlowPeer {
  readonly #limits: FlowLimits;
  readonly #flows = new Map<number, Flow>();
  #peer: FlowPeer | undefined;

  constructor(limits: FlowLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#flows.size;
  }

  /** Bytes kept for all flows. */
  get heldBytes(): number {
    return [...this.#flows.values()].reduce((sum, flow) => sum + flow.heldBytes, 0);
  }

  has(id: number): boolean {
    return this.#flows.has(id);
  }

  /** The caller has checked that the id is free. */
  open(id: number): Flow {
    const flow = new Flow(id, this.#limits, () => this.#flows.delete(id));
    this.#flows.set(id, flow);
    if (this.#peer !== undefined) flow.attach(this.#peer, 0);
    return flow;
  }

  /** Connects new flows, and those that are open, with what the peer has received of each; a flow that is not in the map has failed. */
  attach(peer: FlowPeer, receivedBytes: ReadonlyMap<number, number> = new Map()): void {
    this.#peer = peer;
    for (const [id, flow] of this.#flows) {
      const received = receivedBytes.get(id);
      if (received === undefined) flow.failed('the other side no longer knows this transfer');
      else flow.attach(peer, received);
    }
  }

  /** The connection is lost, and may be replaced by another. */
  detach(): void {
    this.#peer = undefined;
    for (const flow of this.#flows.values()) flow.detach();
  }

  /** Fails every flow. */
  close(problem: string): void {
    this.detach();
    for (const flow of this.#flows.values()) flow.failed(problem);
  }

  /** How much of each flow has been received. */
  receivedBytes(): Map<number, number> {
    return new Map([...this.#flows].map(([id, flow]) => [id, flow.receivedBytes]));
  }

  // Messages for a flow that has already ended here are not errors: both sides may end it at the same time.

  data(flowId: number, offset: number, bytes: Uint8Array): boolean {
    this.#flows.get(flowId)?.received(offset, bytes);
    return true;
  }

  acknowledge(flowId: number, offset: number): void {
    this.#flows.get(flowId)?.acknowledged(offset);
  }

  end(flowId: number, offset: number): void {
    this.#flows.get(flowId)?.ended(offset);
  }

  reset(flowId: number, problem: string): void {
    this.#flows.get(flowId)?.failed(problem);
  }

  async ready(): Promise<void> {}
}
