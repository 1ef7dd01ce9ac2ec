// Validates raw parameters against the table. Used on both sides of the wire and in-process, so a wrong call gets the same error everywhere.

import * as v from 'valibot';
import { shownText, shownValue } from '../base/shown-value.js';
import { execError } from './errors.js';
import { type Method, type Notification, type Params, requests } from './methods.js';
import { notifications } from './notifications.js';
import { type Described, memberOf, ruleOf } from './rule-words.js';

/** Returns the method's parameters, or throws an error that names the wrong member, what was expected and what it is. */
export function readParams<M extends Method>(method: M, params: unknown): Params<M> {
  const parsed = v.safeParse(requests[method].params, params, firstIssue);
  if (!parsed.success) throw invalid({ schema: requests[method].params, value: params, root: 'params' }, parsed.issues[0]);
  return parsed.output;
}

/** The same for a notification. */
export function readNotification<N extends keyof typeof notifications>(method: N, params: unknown): Notification<N> {
  const parsed = v.safeParse(notifications[method].params, params, firstIssue);
  if (!parsed.success) throw invalid({ schema: notifications[method].params, value: params, root: 'params' }, parsed.issues[0]);
  return parsed.output;
}

/** The same for options that stay in the client. */
export function checkOptions(schema: v.GenericSchema, options: unknown): void {
  const parsed = v.safeParse(schema, options, firstIssue);
  if (!parsed.success) throw invalid({ schema, value: options, root: 'options' }, parsed.issues[0]);
}

/** An error reports only the first problem, so the check stops there. */
const firstIssue = { abortEarly: true };

interface Checked {
  readonly schema: v.GenericSchema;
  readonly value: unknown;
  /** The name of the whole value, for a problem that is not in one member. */
  readonly root: 'params' | 'options';
}

function invalid({ schema, value, root }: Checked, issue: v.BaseIssue<unknown>) {
  const path = issue.path ?? [];
  const last = path.at(-1);
  const place = last === undefined ? root : path.map(step).join('').replace(/^\./, '');
  // mapOf and misnamed options supply their own rule text; valibot's messages begin with "Invalid".
  const rule = issue.message.startsWith('expected ') ? issue.message : `expected ${ruleOf(schemaAt(schema, path))}`;
  const got = shownValue(last === undefined ? value : last.value);
  return execError('invalidParams', { problem: `${place}: ${rule}, got ${got}` });
}

function schemaAt(schema: Described, path: readonly v.IssuePathItem[]): Described {
  return path.reduce((holder, { key, input }) => memberOf(holder, key, input) ?? holder, schema);
}

/** `.rows` for an identifier, `[0]` for an array item, `["a b"]` for any other name. */
function step({ type, key }: v.IssuePathItem): string {
  if (type === 'array') return `[${String(key)}]`;
  const name = String(key);
  return /^[A-Za-z_]\w{0,63}$/.test(name) ? `.${name}` : `[${shownText(name)}]`;
}
