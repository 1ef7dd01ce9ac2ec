// The open flows of one side of a session. It is the peer of the table on the other side: over a wire with messages in between, and in
// one program directly.

import { Flow, type FlowEnding, type FlowLimits, type FlowPeer } from './flow.js';

/**
 * Flows that have ended, of which the peer may not know yet because its connection was lost with the last messages. More than can end
 * before a lost connection is noticed; about 100 bytes each.
 */
const keptEndings = 512;

export class FlowTable implements FlowPeer {
  readonly #limits: FlowLimits;
  readonly #flows = new Map<number, Flow>();
  /** Oldest first. */
  readonly #endings = new Map<number, FlowEnding>();
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
    const flow = new Flow(id, this.#limits, (ending) => this.#ended(id, ending));
    this.#flows.set(id, flow);
    if (this.#peer !== undefined) flow.attach(this.#peer, 0);
    return flow;
  }

  /**
   * Connects new flows, and those that are open, with what the peer has received of each; a flow that is not in the map has failed. The
   * peer is told again how the flows in the map ended that are no longer open here.
   */
  attach(peer: FlowPeer, receivedBytes: ReadonlyMap<number, number> = new Map()): void {
    this.#peer = peer;
    for (const id of receivedBytes.keys()) {
      const ending = this.#endings.get(id);
      if (ending !== undefined) repeatEnding(peer, id, ending);
    }
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

  /** How much of each flow has been received, including flows that have ended lately. */
  receivedBytes(): Map<number, number> {
    return new Map([...this.#endings, ...this.#flows].map(([id, { receivedBytes }]) => [id, receivedBytes]));
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

  #ended(id: number, ending: FlowEnding): void {
    this.#flows.delete(id);
    this.#endings.set(id, ending);
    const [oldest] = this.#endings.keys();
    if (this.#endings.size > keptEndings && oldest !== undefined) this.#endings.delete(oldest);
  }
}

function repeatEnding(peer: FlowPeer, id: number, { receivedBytes, sentBytes, problem }: FlowEnding): void {
  if (problem !== undefined) return peer.reset(id, problem);
  peer.acknowledge(id, receivedBytes);
  peer.end(id, sentBytes);
}
