// What stays of the request for a process while the process is known, and what a request may weigh.

import { execError } from '../../protocol/index.js';
import type { ProcessOptions } from '../process-options.js';
import type { SpawnSpec } from './spawn.js';

export interface RequestLimits {
  /** All arguments of one process together. */
  readonly maxArgvBytes: number;
  /** All variables of one process together, names included. */
  readonly maxEnvBytes: number;
  /** The caller's notes on one process, as JSON. */
  readonly maxMetadataBytes: number;
}

export interface KeptRequest {
  /** Without the environment, which may be large and is of no use once the child has it, and no part of what callers are told. */
  readonly spec: Omit<SpawnSpec, 'env'>;
  /** What was asked to be executed. */
  readonly program: string;
  /** What starts the same again, the environment included; only where that was asked for. */
  readonly again: ProcessOptions | undefined;
  /** As JSON: the objects could take ten times as much memory as their text. */
  readonly metadata: string | undefined;
  /** Memory that it takes, about. */
  readonly bytes: number;
}

/** As the kernel counts: the NUL at the end of each string, and the pointer to it. */
const stringOverheadBytes = 9;

/** Throws `ExecError` invalidParams that names the member, its limit and its size. */
export function keepRequest(options: ProcessOptions, limits: RequestLimits): KeptRequest {
  const { id, spec, metadata, restartable = false } = options;
  const { env, ...kept } = spec;
  const argvBytes = bytesOf(spec.arg0 === undefined ? spec.argv : [spec.arg0, ...spec.argv]);
  requireAtMost(limits.maxArgvBytes, 'argv', argvBytes);
  const envBytes = bytesOf(Object.keys(env)) + bytesOf(Object.values(env));
  requireAtMost(limits.maxEnvBytes, 'env', envBytes);
  const json = metadata === undefined ? undefined : jsonOf(metadata);
  const metadataBytes = json === undefined ? 0 : bytesOf([json]);
  requireAtMost(limits.maxMetadataBytes, 'metadata', metadataBytes);
  const program = spec.program.kind === 'exact' ? spec.program.path : (spec.argv[0] ?? '');
  const bytes = bytesOf([id, spec.cwd]) + argvBytes + metadataBytes + (restartable ? envBytes : 0);
  const again = restartable ? { ...options, metadata: undefined } : undefined; // the notes are kept as JSON
  return { spec: kept, program, again, metadata: json, bytes };
}

/** The caller's notes, as far as JSON can say them. */
export function metadataOf({ metadata }: KeptRequest): { metadata?: Record<string, unknown> } {
  if (metadata === undefined) return {};
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- the text was made from such an object
  const notes: Record<string, unknown> = JSON.parse(metadata);
  return { metadata: notes };
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + stringOverheadBytes, 0);
}

function requireAtMost(limit: number, member: string, bytes: number): void {
  if (bytes <= limit) return;
  throw execError('invalidParams', { problem: `${member} must be at most ${limit} bytes, got ${bytes}` });
}

/** A caller in this program may hand in what JSON cannot say: a cycle, a bigint, a depth beyond the stack. */
function jsonOf(metadata: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(metadata);
  } catch (error) {
    const problem = `metadata must be JSON: ${error instanceof Error ? error.message : String(error)}`;
    throw execError('invalidParams', { problem }, { cause: error });
  }
}
