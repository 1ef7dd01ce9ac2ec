// The error codes that JSON-RPC reserves, and the one with which a connection itself refuses a call. The protocol's table has the rest.

export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** The peer has more calls in flight than allowed. */
  tooManyRequests: -32022,
} as const;
