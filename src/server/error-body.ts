// What a caller is told of a failure, and what the operator is.

import type { Logger } from '../base/logger.js';
import { execError, isAnyExecError, isExecError } from '../protocol/index.js';
import type { RpcErrorBody } from '../rpc/rpc-error.js';
import type { Metrics } from './metrics.js';

/** Internal faults are ours to look at; the peer only learns that there was one. */
export function errorBodyOf(
  error: unknown,
  { metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger },
): RpcErrorBody {
  const known = isAnyExecError(error) ? error : execError('internalError', { problem: 'internal error' }, { cause: error });
  if (known !== error) {
    logger.error('internal error', { problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
  metrics.answeredWithError(known.code);
  if (isExecError(known, 'spawnFailed')) metrics.spawnFailed(known.data.failure);
  return {
    code: known.code,
    message: known.message,
    data: { kind: known.kind, ...Object.fromEntries(Object.entries(known.data)) },
  };
}
