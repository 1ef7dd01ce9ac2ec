// Converts any failure into the error body for the client, and reports it to the log and the metrics.

import type { Logger } from '../base/logger.js';
import { execError, isAnyExecError, isExecError } from '../protocol/index.js';
import type { RpcErrorBody } from '../rpc/rpc-error.js';
import type { Metrics } from './metrics.js';

/** Details of an internal fault go to the log; the client only sees that one occurred. */
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
