// Raw parameters -> checked ones, by the table. The same on both sides of a wire and without one, with the same words for what is wrong.

import * as v from 'valibot';
import { shownText, shownValue } from '../base/shown-value.js';
import { execError } from './errors.js';
import { type Method, type Notification, type Params, notifications, requests } from './methods.js';
import { type Described, memberOf, ruleOf } from './rule-words.js';

/** The method's parameters, or an error that names the wrong member, what it must be and what it is. */
export function readParams<M extends Method>(method: M, params: unknown): Params<M> {
  const parsed = v.safeParse(requests[method].params, params, firstIssue);
  if (!parsed.success) throw invalid({ schema: requests[method].params, value: params, root: 'params' }, parsed.issues[0]);
  return parsed.output;
}

/** The same for a notification of the client's. */
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

/** Only the first is told, so the others need not be found. */
const firstIssue = { abortEarly: true };

interface Checked {
  readonly schema: v.GenericSchema;
  readonly value: unknown;
  /** What the whole is called. */
  readonly root: 'params' | 'options';
}

function invalid({ schema, value, root }: Checked, issue: v.BaseIssue<unknown>) {
  const path = issue.path ?? [];
  const last = path.at(-1);
  const place = last === undefined ? root : path.map(step).join('').replace(/^\./, '');
  // Rules that no schema shows have words of their own; valibot's begin with "Invalid".
  const rule = issue.message.startsWith('expected ') ? issue.message : `expected ${ruleOf(schemaAt(schema, path))}`;
  const got = shownValue(last === undefined ? value : last.value);
  return execError('invalidParams', { problem: `${place}: ${rule}, got ${got}` });
}

function schemaAt(schema: Described, path: readonly v.IssuePathItem[]): Described {
  return path.reduce((holder, { key, input }) => memberOf(holder, key, input) ?? holder, schema);
}

/** `.rows` for a plain name, `[0]` for an item, `["a b"]` for any other name. */
function step({ type, key }: v.IssuePathItem): string {
  if (type === 'array') return `[${String(key)}]`;
  const name = String(key);
  return /^[A-Za-z_]\w{0,63}$/.test(name) ? `.${name}` : `[${shownText(name)}]`;
}
