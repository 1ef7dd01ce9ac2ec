// The client's ends of its flows, over whichever connection there is. Flows outlive a lost connection as calls do.

import { flowAcknowledgeBytes, flowFrameBytes, flowFrameHead, flowWindowBytes } from '../protocol/index.js';
import type { Flow, FlowPeer } from '../rpc/flow.js';
import { FlowTable } from '../rpc/flow-table.js';
import type { GreetedServer } from './greeted-server.js';
import { type PendingCall, flowIdIn } from './remote-call.js';

const flowLimits = { windowBytes: flowWindowBytes, frameBytes: flowFrameBytes, acknowledgeBytes: flowAcknowledgeBytes };

export class RemoteFlows {
  readonly table = new FlowTable(flowLimits);
  #lastId = 0;

  /** The call that names the flow must be made at once: the server knows the flow from then on. */
  open(): Flow {
    this.#lastId += 1;
    return this.table.open(this.#lastId);
  }

  /** For `initialize`: what this client has received; undefined when there are no flows. */
  get received(): Record<string, number> | undefined {
    const received = this.table.receivedBytes();
    return received.size === 0 ? undefined : Object.fromEntries(received);
  }

  /**
   * Continues every flow over a new connection. A flow that the server does not know has ended there, unless the call that opens it is
   * among the repeated ones.
   */
  connected({ server, greeted, kind }: GreetedServer, repeated: Iterable<PendingCall>): void {
    if (kind === 'other') return; // such a server refuses every call that opens one
    const known = new Map(Object.entries(greeted.flows ?? {}).map(([id, bytes]) => [Number(id), bytes]));
    for (const { params } of repeated) {
      const id = flowIdIn(params);
      if (id !== undefined && !known.has(id)) known.set(id, 0);
    }
    this.table.attach(peerOver(server), known);
  }
}

function peerOver(server: GreetedServer['server']): FlowPeer {
  return {
    data: (flowId, offset, bytes) => server.channel.sendBinary(flowFrameHead(flowId, offset), bytes),
    acknowledge: (flowId, offset) => void server.notify('flow/ack', { flowId, offset }),
    end: (flowId, offset) => void server.notify('flow/end', { flowId, offset }),
    reset: (flowId, problem) => void server.notify('flow/reset', { flowId, problem }),
    ready: () => server.channel.drained(),
  };
}
