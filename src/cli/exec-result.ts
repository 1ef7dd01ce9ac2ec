// The result of a command as one JSON object, for programs.

import type { CollectedStream } from '../client/index.js';
import { type Ending, type ExecError, encodeBase64 } from '../protocol/index.js';
import { exitStatus } from './exit-status.js';
import { jsonLine } from './visible-text.js';

export interface Kept {
  readonly stdout: CollectedStream;
  readonly stderr: CollectedStream;
}

export function endedJson(ending: Ending, { stdout, stderr }: Kept): string {
  return jsonLine({
    code: ending.kind === 'code' ? ending.code : null,
    signal: ending.kind === 'signal' ? ending.signal : null,
    reason: ending.reason,
    exitStatus: exitStatus(ending),
    outputComplete: ending.outputComplete,
    durationMs: ending.endedAt - ending.startedAt,
    stdout: streamJson(stdout),
    stderr: streamJson(stderr),
  });
}

export function notStartedJson(error: ExecError<'spawnFailed'>, status: number): string {
  const { failure, problem } = error.data;
  return jsonLine({ code: null, signal: null, reason: 'spawnFailed', exitStatus: status, failure, problem });
}

function streamJson({ bytes, text, droppedBytes }: CollectedStream) {
  return { text, base64: encodeBase64(bytes), bytes: bytes.length + droppedBytes, truncated: droppedBytes > 0, droppedBytes };
}
