// The method table as what it offers: one function for each method, grouped by who implements it.

import { type Method, type Params, type Requests, type Result, requests } from './methods.js';

export type SessionMethod = { [M in Method]: Requests[M]['family'] extends 'session' ? M : never }[Method];

/** The one-shot family, private to a connection. */
export type CommandMethod = { [M in Method]: Requests[M]['family'] extends 'command' ? M : never }[Method];
export type CommandService = { readonly [M in CommandMethod]: (params: Params<M>) => Promise<Result<M>> };

/**
 * Everything that can be asked of a session, implemented by the server's handlers and by the client's stub alike.
 * Calls for one process take effect in the order they are made.
 */
export type ExecService = { readonly [M in SessionMethod]: (params: Params<M>) => Promise<Result<M>> };

export function isMethod(name: string): name is Method {
  return Object.hasOwn(requests, name);
}

export function isSessionMethod(name: string): name is SessionMethod {
  return isMethod(name) && requests[name].family === 'session';
}

export function isCommandMethod(name: string): name is CommandMethod {
  return isMethod(name) && requests[name].family === 'command';
}
