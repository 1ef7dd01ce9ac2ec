// The method table as service types: one function per method, grouped by implementer.

import { type Method, type Notifications, type Params, type Requests, type Result, requests } from './methods.js';
import { notifications } from './notifications.js';

export type SessionMethod = { [M in Method]: Requests[M]['family'] extends 'session' ? M : never }[Method];

/** The one-shot family, private to a connection. */
export type CommandMethod = { [M in Method]: Requests[M]['family'] extends 'command' ? M : never }[Method];
export type CommandService = ServiceOf<CommandMethod>;

export type ServiceOf<Name extends Method> = { readonly [M in Name]: (params: Params<M>) => Promise<Result<M>> };

/**
 * All methods of a session, implemented by both the server's handlers and the client's stub.
 * Calls for one process take effect in the order they are made.
 */
export type ExecService = ServiceOf<SessionMethod>;

/** All methods except `initialize`, which opens the session that the others need. */
export type ConnectionMethod = Exclude<Method, 'initialize'>;

/** All methods available on an initialized connection: those of its session, its own, and one-shot commands. */
export type ConnectionService = ServiceOf<ConnectionMethod>;

/** Notifications a client sends after the handshake; `initialized` is part of the handshake. */
export type ClientNotification = Exclude<
  { [N in keyof Notifications]: Notifications[N]['from'] extends 'client' | 'both' ? N : never }[keyof Notifications],
  'initialized'
>;

export function isMethod(name: string): name is Method {
  return Object.hasOwn(requests, name);
}

export function isConnectionMethod(name: string): name is ConnectionMethod {
  return isMethod(name) && name !== 'initialize';
}

export function isClientNotification(name: string): name is ClientNotification {
  return isNotification(name) && notifications[name].from !== 'server' && name !== 'initialized';
}

function isNotification(name: string): name is keyof Notifications {
  return Object.hasOwn(notifications, name);
}

export function isSessionMethod(name: string): name is SessionMethod {
  return isMethod(name) && requests[name].family === 'session';
}

export function isCommandMethod(name: string): name is CommandMethod {
  return isMethod(name) && requests[name].family === 'command';
}
