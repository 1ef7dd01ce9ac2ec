// The part of a start request that is kept as long as the process is known, and the size limits of a request.

import { execError } from '../../protocol/index.js';
import type { ProcessOptions } from '../process-options.js';
import type { SpawnSpec } from './spawn.js';

export interface RequestLimits {
  /** All arguments of one process together. */
  readonly maxArgvBytes: number;
  /** All variables of one process together, names included. */
  readonly maxEnvBytes: number;
  /** The caller's metadata on one process, as JSON. */
  readonly maxMetadataBytes: number;
}

export interface KeptRequest {
  /** Without the environment: it may be large, is not needed once the child has it, and is never reported to clients. */
  readonly spec: Omit<SpawnSpec, 'env'>;
  /** The program as the request named it. */
  readonly program: string;
  /** The options for a restart, environment included; only for restartable processes. */
  readonly again: ProcessOptions | undefined;
  /** As JSON, because the objects could take ten times as much memory as their text. */
  readonly metadata: string | undefined;
  /** Approximate memory that this request takes. */
  readonly bytes: number;
}

/** As the kernel counts: each string's terminating NUL and the pointer to it. */
const stringOverheadBytes = 9;

/** Throws `ExecError` invalidParams, which names the member, its limit and its size, when one is too large. */
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
  const again = restartable ? { ...options, metadata: undefined } : undefined; // metadata is kept as JSON
  return { spec: kept, program, again, metadata: json, bytes };
}

/** The caller's metadata, as far as JSON can represent it. */
export function metadataOf({ metadata }: KeptRequest): { metadata?: Record<string, unknown> } {
  if (metadata === undefined) return {};
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- the text was made from such an object
  const parsed: Record<string, unknown> = JSON.parse(metadata);
  return { metadata: parsed };
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + stringOverheadBytes, 0);
}

function requireAtMost(limit: number, member: string, bytes: number): void {
  if (bytes <= limit) return;
  throw execError('invalidParams', { problem: `${member} must be at most ${limit} bytes, got ${bytes}` });
}

/** An in-process caller may pass what JSON cannot represent: a cycle, a bigint, nesting deeper than the stack. */
function jsonOf(metadata: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(metadata);
  } catch (error) {
    const problem = `metadata must be JSON: ${error instanceof Error ? error.message : String(error)}`;
    throw execError('invalidParams', { problem }, { cause: error });
  }
}
