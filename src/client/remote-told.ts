// What the server tells without being asked, read by the table.

import * as v from 'valibot';
import { type ProcessEvent, decodeOutputFrame, notifications } from '../protocol/index.js';
import type { OutputDelta } from './exec-link.js';

export type Told =
  | { readonly kind: 'event'; readonly event: ProcessEvent }
  | { readonly kind: 'delta'; readonly delta: OutputDelta };

/** Undefined for what is not known here. */
export function readTold(method: string, params: unknown): Told | undefined {
  switch (method) {
    case 'process/output':
      return { kind: 'event', event: { type: 'output', ...v.parse(notifications[method].params, params) } };
    case 'process/exited':
      return { kind: 'event', event: { type: 'exited', ...v.parse(notifications[method].params, params) } };
    case 'process/closed':
      return { kind: 'event', event: { type: 'closed', ...v.parse(notifications[method].params, params) } };
    case 'command/exec/outputDelta':
      return { kind: 'delta', delta: v.parse(notifications[method].params, params) };
    default:
      return undefined;
  }
}

export function readToldFrame(frame: Uint8Array): Told | undefined {
  const output = decodeOutputFrame(frame);
  return output === undefined ? undefined : { kind: 'event', event: { type: 'output', ...output } };
}
