// Sends the flows of a session over one connection, in turn with its output pumps.

import { flowFrameHead } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import type { FlowPeer } from '../rpc/flow.js';
import type { Agreement } from './pump-set.js';
import type { SendTurns } from './send-turns.js';

export interface ConnectionFlowsOptions {
  readonly connection: Connection;
  readonly turns: SendTurns;
  readonly agreement: Agreement;
}

export class ConnectionFlows implements FlowPeer {
  readonly #options: ConnectionFlowsOptions;

  constructor(options: ConnectionFlowsOptions) {
    this.#options = options;
  }

  data(flowId: number, offset: number, bytes: Uint8Array): boolean {
    const { connection, agreement } = this.#options;
    return agreement.binaryOutput
      ? connection.channel.sendBinary(flowFrameHead(flowId, offset), bytes)
      : connection.notify('flow/data', { flowId, offset, chunk: bytes });
  }

  acknowledge(flowId: number, offset: number): void {
    this.#options.connection.notify('flow/ack', { flowId, offset });
  }

  end(flowId: number, offset: number): void {
    this.#options.connection.notify('flow/end', { flowId, offset });
  }

  reset(flowId: number, problem: string): void {
    this.#options.connection.notify('flow/reset', { flowId, problem });
  }

  ready(): Promise<void> {
    return new Promise((resolve) => {
      // The flow sends after this returns, so whether the peer keeps up is known only at the next turn.
      this.#options.turns.wait(() => {
        resolve();
        return false;
      });
    });
  }
}
