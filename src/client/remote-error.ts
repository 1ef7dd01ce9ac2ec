// A reply's error -> the ExecError it was on the server, so that callers test errors the same way with and without a wire.

import { type ErrorName, type ExecError, errorTable, execError } from '../protocol/index.js';
import type { RpcError } from '../rpc/rpc-error.js';

export function toExecError(error: RpcError): ExecError | RpcError {
  const { data } = error;
  if (typeof data !== 'object' || data === null || !('kind' in data) || !isErrorName(data.kind)) return error;
  const { kind, ...rest } = data;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table meets a dynamic name: a Sluice server sends what its table says
  return execError(kind, rest as never, { cause: error });
}

function isErrorName(value: unknown): value is ErrorName {
  return typeof value === 'string' && Object.hasOwn(errorTable, value);
}
