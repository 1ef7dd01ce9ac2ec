// The words of the one-shot family: a command whose reply comes when it has ended.

import * as v from 'valibot';
import { bytes } from './bytes.js';
import { limit, processId } from './ids.js';
import { mapOf } from './map.js';
import { envPolicy, path } from './process.js';

/** What may be read: everything. Codex had policies that limit it, and those are refused. */
const fullRead = v.nullish(v.object({ type: v.literal('fullAccess') }));

/** Strict: a member that is not known here may be a limit, and a limit that is not enforced is refused. */
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

/** Checked by the handler, which has Codex's words for what is wrong. */
const looseSize = v.object({ rows: v.pipe(v.number(), v.integer()), cols: v.pipe(v.number(), v.integer()) });

export const commandExecParams = v.object({
  command: v.pipe(v.array(v.string()), v.readonly(), v.description('Program and arguments')),
  processId: v.pipe(
    v.nullish(processId),
    v.description('Needed for tty, streaming and follow-up calls; private to the connection'),
  ),
  tty: v.pipe(v.nullish(v.boolean()), v.description('Run it on a terminal; implies both streams')),
  streamStdin: v.pipe(v.nullish(v.boolean()), v.description('Keep stdin open for command/exec/write; else it is empty')),
  streamStdoutStderr: v.pipe(v.nullish(v.boolean()), v.description('Send output as notifications and leave it out of the reply')),
  outputBytesCap: v.pipe(
    v.nullish(limit),
    v.description('Bytes passed on per stream; 1 MiB when absent. The command runs on beyond it'),
  ),
  disableOutputCap: v.pipe(v.nullish(v.boolean()), v.description('No cap; not together with outputBytesCap')),
  timeoutMs: v.pipe(
    v.nullish(v.pipe(v.number(), v.integer())),
    v.description('The command is killed after this long; 10 s when absent'),
  ),
  disableTimeout: v.pipe(v.nullish(v.boolean()), v.description('No time limit; not together with timeoutMs')),
  cwd: v.pipe(v.nullish(path), v.description("Path or file: URI; a relative path starts at the server's folder")),
  env: v.pipe(
    v.nullish(v.pipe(mapOf(v.nullable(v.string())), v.readonly())),
    v.description(
      "Laid over the server's environment without the variables whose names match *KEY*, *SECRET* or *TOKEN*, or over what `envPolicy` takes; null unsets",
    ),
  ),
  envPolicy: v.nullish(envPolicy),
  size: v.pipe(v.nullish(looseSize), v.description('Of the terminal; 24 rows of 80 columns when absent')),
  sandboxPolicy: v.pipe(v.nullish(sandboxPolicy), v.description('As is (dangerFullAccess) when absent')),
  permissionProfile: v.pipe(v.nullish(v.unknown()), v.description('Refused: the server knows no profiles')),
});

export const commandExecResult = v.object({
  exitCode: v.pipe(v.number(), v.integer(), v.description('124 when the time ran out, 128+N for signal N')),
  stdout: v.pipe(v.string(), v.description('As text, invalid UTF-8 replaced; empty when it was streamed')),
  stderr: v.string(),
  signal: v.pipe(v.optional(v.string()), v.description('Name of the signal that ended it')),
  timedOut: v.boolean(),
  stdoutCapReached: v.pipe(v.boolean(), v.description('There was more than the cap')),
  stderrCapReached: v.boolean(),
  stdoutBytes: v.pipe(v.number(), v.description('Written in all, beyond the cap too')),
  stderrBytes: v.number(),
  sandboxType: v.pipe(v.picklist(['none', 'bubblewrap']), v.description('What the command really ran under')),
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
