// The flows of a session, and the calls that use them. A flow outlives its connection as the session does; a call that the client repeats
// because its connection was lost joins the one in progress, or gets the same reply again.

import { execError, flowAcknowledgeBytes, flowFrameBytes, flowWindowBytes } from '../protocol/index.js';
import type { Flow, FlowPeer } from '../rpc/flow.js';
import { FlowTable } from '../rpc/flow-table.js';

export interface FlowCall {
  readonly method: string;
  readonly flowId: number;
}

/** Calls whose reply is kept for a client that did not receive it. More than a client has in progress when its connection is lost. */
const keptReplies = 256;

export class SessionFlows {
  readonly table = new FlowTable({
    windowBytes: flowWindowBytes,
    frameBytes: flowFrameBytes,
    acknowledgeBytes: flowAcknowledgeBytes,
  });
  readonly #maxFlows: number;
  #isClosed = false;
  /** Oldest first. */
  readonly #calls = new Map<number, { readonly method: string; readonly reply: Promise<unknown> }>();

  constructor(maxFlows: number) {
    this.#maxFlows = maxFlows;
  }

  /** Opens the flow synchronously. If `act` rejects, the flow is reset. */
  async run<T>({ method, flowId }: FlowCall, act: (flow: Flow) => Promise<T>): Promise<unknown> {
    const earlier = this.#calls.get(flowId);
    if (earlier?.method === method) return earlier.reply;
    if (earlier !== undefined || this.table.has(flowId)) throw execError('flowExists', { flowId });
    if (this.#isClosed) throw execError('invalidRequest', { problem: 'the session has ended' });
    if (this.table.size >= this.#maxFlows) throw execError('tooManyFlows', { limit: this.#maxFlows });
    const flow = this.table.open(flowId);
    const reply = act(flow).catch((error: unknown) => {
      flow.reset(error instanceof Error ? error.message : String(error));
      throw error;
    });
    this.#calls.set(flowId, { method, reply });
    this.#forgetOldest();
    return reply;
  }

  /** Connects the flows to a client that has received this much of each. */
  attach(peer: FlowPeer, receivedBytes: ReadonlyMap<number, number>): void {
    this.table.attach(peer, receivedBytes);
  }

  detach(): void {
    this.table.detach();
  }

  /** The session has ended. */
  close(): void {
    this.#isClosed = true;
    this.table.close('the session has ended');
  }

  #forgetOldest(): void {
    for (const flowId of this.#calls.keys()) {
      if (this.#calls.size <= keptReplies + this.#maxFlows) return;
      if (!this.table.has(flowId)) this.#calls.delete(flowId);
    }
  }
}
