// Schemas of the one-shot family: a command whose reply is sent when it has ended.

import * as v from 'valibot';
import { bytes } from './bytes.js';
import { limit, processId } from './ids.js';
import { mapOf } from './map.js';
import { envPolicy, path } from './process.js';

/** Full read access only. Codex had policies that restrict reading, and those are refused. */
const fullRead = v.nullish(v.object({ type: v.literal('fullAccess') }));

/** Strict, because an unknown member may be a limit, and a limit that is not enforced must be refused. */
const unknownMember = 'expected no member of this name, since it may be a limit that cannot be enforced';
export const sandboxPolicy = v.variant('type', [
  v.strictObject({ type: v.literal('dangerFullAccess') }, unknownMember),
  v.strictObject({ type: v.literal('readOnly'), networkAccess: v.nullish(v.boolean()), access: fullRead }, unknownMember),
  v.strictObject(
    {
      type: v.literal('workspaceWrite'),
      writableRoots: v.nullish(v.array(path)),
      networkAccess: v.nullish(v.boolean()),
      excludeTmpdirEnvVar: v.nullish(v.boolean()),
      excludeSlashTmp: v.nullish(v.boolean()),
      readOnlyAccess: fullRead,
    },
    unknownMember,
  ),
]);

export type SandboxPolicy = v.InferOutput<typeof sandboxPolicy>;

/** Checked by the handler, which reports problems in Codex's words. */
const looseSize = v.object({ rows: v.pipe(v.number(), v.integer()), cols: v.pipe(v.number(), v.integer()) });

export const commandExecParams = v.object({
  command: v.pipe(v.array(v.string()), v.readonly(), v.description('Program and arguments')),
  processId: v.pipe(
    v.nullish(processId),
    v.description('Required for tty, streaming and follow-up calls; private to the connection'),
  ),
  tty: v.pipe(v.nullish(v.boolean()), v.description('Run the command on a terminal; implies streamStdin and streamStdoutStderr')),
  streamStdin: v.pipe(v.nullish(v.boolean()), v.description('Keep stdin open for command/exec/write; otherwise it is empty')),
  streamStdoutStderr: v.pipe(v.nullish(v.boolean()), v.description('Send output as notifications and leave it out of the reply')),
  outputBytesCap: v.pipe(
    v.nullish(limit),
    v.description('Bytes passed on per stream; 1 MiB when absent. The command continues beyond it'),
  ),
  disableOutputCap: v.pipe(v.nullish(v.boolean()), v.description('No cap; cannot be combined with outputBytesCap')),
  timeoutMs: v.pipe(
    v.nullish(v.pipe(v.number(), v.integer())),
    v.description('The command is killed after this time; 10 s when absent'),
  ),
  disableTimeout: v.pipe(v.nullish(v.boolean()), v.description('No time limit; cannot be combined with timeoutMs')),
  cwd: v.pipe(v.nullish(path), v.description("Path or file: URI, relative to the server's working directory")),
  env: v.pipe(
    v.nullish(v.pipe(mapOf(v.nullable(v.string())), v.readonly())),
    v.description(
      "Applied on top of the server's environment without the variables whose names match *KEY*, *SECRET* or *TOKEN*, or on top of what `envPolicy` inherits; null unsets a variable",
    ),
  ),
  envPolicy: v.nullish(envPolicy),
  size: v.pipe(v.nullish(looseSize), v.description('Terminal size; 24 rows of 80 columns when absent')),
  sandboxPolicy: v.pipe(v.nullish(sandboxPolicy), v.description('No sandbox (dangerFullAccess) when absent')),
  permissionProfile: v.pipe(v.nullish(v.unknown()), v.description('Refused: the server has no profiles')),
});

export const commandExecResult = v.object({
  exitCode: v.pipe(v.number(), v.integer(), v.description('124 when the command timed out, 128+N for signal N')),
  stdout: v.pipe(v.string(), v.description('Output as text, with invalid UTF-8 replaced; empty when it was streamed')),
  stderr: v.string(),
  signal: v.pipe(v.optional(v.string()), v.description('Name of the signal that ended it')),
  timedOut: v.boolean(),
  stdoutCapReached: v.pipe(v.boolean(), v.description('true when the output exceeded the cap')),
  stderrCapReached: v.boolean(),
  stdoutBytes: v.pipe(v.number(), v.description('Bytes written in total, including those beyond the cap')),
  stderrBytes: v.number(),
  sandboxType: v.pipe(v.picklist(['none', 'bubblewrap']), v.description('What the command actually ran under')),
});

export const commandWriteParams = v.object({
  processId,
  deltaBase64: v.nullish(bytes),
  closeStdin: v.nullish(v.boolean()),
});

export const commandResizeParams = v.object({ processId, size: looseSize });

export const outputDelta = v.object({
  processId,
  stream: v.picklist(['stdout', 'stderr']),
  deltaBase64: bytes,
  capReached: v.boolean(),
});
