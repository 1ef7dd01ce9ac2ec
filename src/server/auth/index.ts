// Authentication and authorization of callers, for the listeners and the command line.

export { requireSafeBind } from './bind-policy.js';
export { type CredentialSource, type Credentials, loadCredentials, parseSha256 } from './credentials.js';
export { type Gate, type GateOptions, type Verdict, createGate, parseAllowedOrigin } from './gate.js';
export { parseAllowedHost } from './host-policy.js';
