// The words of the one-shot family: a command whose reply comes when it has ended.

import * as v from 'valibot';
import { bytes } from './bytes.js';
import { processId, seq } from './ids.js';
import { size } from './process.js';

export const sandboxPolicy = v.variant('type', [
  v.object({ type: v.literal('dangerFullAccess') }),
  v.object({ type: v.literal('readOnly'), networkAccess: v.nullish(v.boolean()) }),
  v.object({
    type: v.literal('workspaceWrite'),
    writableRoots: v.nullish(v.array(v.string())),
    networkAccess: v.nullish(v.boolean()),
    excludeTmpdirEnvVar: v.nullish(v.boolean()),
    excludeSlashTmp: v.nullish(v.boolean()),
  }),
]);

export const commandExecParams = v.object({
  command: v.array(v.string()),
  processId: v.pipe(
    v.nullish(processId),
    v.description('Needed for tty, streaming and follow-up calls; private to the connection'),
  ),
  tty: v.nullish(v.boolean()),
  streamStdin: v.nullish(v.boolean()),
  streamStdoutStderr: v.pipe(v.nullish(v.boolean()), v.description('Send output as notifications and leave it out of the reply')),
  outputBytesCap: v.pipe(v.nullish(seq), v.description('Bytes kept per stream; 1 MiB when absent')),
  disableOutputCap: v.nullish(v.boolean()),
  timeoutMs: v.pipe(v.nullish(v.number()), v.description('10 s when absent')),
  disableTimeout: v.nullish(v.boolean()),
  cwd: v.nullish(v.string()),
  env: v.pipe(v.nullish(v.record(v.string(), v.nullable(v.string()))), v.description('null unsets')),
  size: v.nullish(size),
  sandboxPolicy: v.nullish(sandboxPolicy),
});

export const commandExecResult = v.object({
  exitCode: v.pipe(v.number(), v.integer(), v.description('124 when the time ran out')),
  stdout: v.string(),
  stderr: v.string(),
  signal: v.optional(v.string()),
  timedOut: v.boolean(),
  stdoutCapReached: v.boolean(),
  stderrCapReached: v.boolean(),
  stdoutBytes: v.number(),
  stderrBytes: v.number(),
  sandboxType: v.string(),
});

export const commandWriteParams = v.object({
  processId,
  deltaBase64: v.nullish(bytes),
  closeStdin: v.nullish(v.boolean()),
});

export const outputDelta = v.object({
  processId,
  stream: v.picklist(['stdout', 'stderr']),
  deltaBase64: bytes,
  capReached: v.boolean(),
});
