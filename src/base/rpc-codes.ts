// The error numbers that JSON-RPC reserves, and the one with which a connection itself refuses a call. The rest are in the protocol's table.

export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** More calls are in flight than the peer may have. */
  tooManyRequests: -32022,
} as const;
