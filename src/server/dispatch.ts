// Method name and raw parameters -> validated -> service -> wire form. Bad parameters are answered here, once.

import * as v from 'valibot';
import {
  type CommandMethod,
  type CommandService,
  type ExecService,
  type Method,
  type Notification,
  type Params,
  type SessionMethod,
  execError,
  notifications,
  requests,
} from '../protocol/index.js';

/** The method's parameters, or an error that says which member is wrong and how. */
export function readParams<M extends Method>(method: M, params: unknown): Params<M> {
  const parsed = v.safeParse(requests[method].params, params);
  if (!parsed.success) throw execError('invalidParams', { problem: describeIssue(parsed.issues[0]) });
  return parsed.output;
}

/** The same for a notification of the client's. */
export function readNotification<N extends keyof typeof notifications>(method: N, params: unknown): Notification<N> {
  const parsed = v.safeParse(notifications[method].params, params);
  if (!parsed.success) throw execError('invalidParams', { problem: describeIssue(parsed.issues[0]) });
  return parsed.output;
}

/** Calls the handler before returning, so that calls keep their order. */
export function callService<M extends SessionMethod>(service: ExecService, method: M, params: Params<M>): Promise<unknown> {
  return service[method](params);
}

/** The same for the one-shot family. */
export function callCommand<M extends CommandMethod>(service: CommandService, method: M, params: Params<M>): Promise<unknown> {
  return service[method](params);
}

/** How Codex names the groups of methods in its errors. */
export function familyOf(method: Method): string {
  if (method === 'environment/info') return 'environment info';
  return method === 'environment/status' ? 'environment status' : 'exec';
}

function describeIssue(issue: v.BaseIssue<unknown>): string {
  const path = issue.path?.map(({ key }) => String(key)).join('.');
  const where = path ?? 'params';
  // valibot words its own checks as "Invalid …: Expected …"; ours say what is wrong as they are.
  return issue.message.startsWith('Invalid ')
    ? `${where}: expected ${issue.expected ?? 'another value'}, got ${issue.received}`
    : `${where}: ${issue.message}`;
}
