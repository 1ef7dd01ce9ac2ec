// Parameters of calls that are more than passed on: which process they are about, and how a write takes its wire form.

import * as v from 'valibot';
import { type ProcessId, asProcessId, encodeBase64 } from '../protocol/index.js';
import { JsonText } from '../rpc/message.js';

const aboutProcess = v.object({ processId: v.string() });
const write = v.object({ ...aboutProcess.entries, chunk: v.instance(Uint8Array), writeId: v.nullish(v.string()) });

export function processIdIn(params: unknown): ProcessId {
  return asProcessId(v.parse(aboutProcess, params).processId);
}

/** With an id, so that it may be sent again. Built by hand: JSON.stringify would look at every character of the payload. */
export function encodedWrite(params: unknown, fallbackId: string): JsonText {
  const { processId, chunk, writeId } = v.parse(write, params);
  const ids = `"processId":${JSON.stringify(processId)},"writeId":${JSON.stringify(writeId ?? fallbackId)}`;
  return new JsonText(`{${ids},"chunk":"${encodeBase64(chunk)}"}`);
}
