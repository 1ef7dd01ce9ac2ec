// Parses the text of one message into exactly one kind of envelope: JSON-RPC shapes without the `jsonrpc` member.

import type { RpcErrorBody } from './rpc-error.js';

/** A BigInt if a number would lose digits. */
export type RequestId = string | number | bigint;

export type Envelope =
  | { readonly kind: 'request'; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: RequestId; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: RequestId; readonly error: RpcErrorBody }
  | { readonly kind: 'malformed'; readonly problem: string };

export interface JsonLimits {
  /** Levels of nesting in one message. */
  readonly jsonDepth: number;
  /** Values in one message, containers included. */
  readonly jsonValues: number;
}

export function readEnvelope(text: string, limits: JsonLimits): Envelope {
  const bulk = bulkProblem(text, limits);
  if (bulk !== undefined) return malformed(bulk);
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch (error) {
    return malformed(`not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isObject(message)) return malformed('a message must be a JSON object');
  const excess = limitProblem(message, limits);
  if (excess !== undefined) return malformed(excess);
  const { method, params, error } = message;
  const id = isRounded(message['id']) ? exactId(text) : message['id'];
  if (id !== undefined && !isRequestId(id)) return malformed('id must be a string or a 64-bit integer');
  if (method !== undefined) {
    if (typeof method !== 'string') return malformed('method must be a string');
    return id === undefined ? { kind: 'notification', method, params } : { kind: 'request', id, method, params };
  }
  if (id === undefined) return malformed('a message must have a method or an id');
  if ('result' in message) return { kind: 'result', id, result: message['result'] };
  return isErrorBody(error) ? { kind: 'error', id, error } : malformed('a reply needs a result or error with code and message');
}

function malformed(problem: string): Envelope {
  return { kind: 'malformed', problem };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'bigint' || Number.isSafeInteger(value);
}

/** JSON.parse may have rounded it, and a reply with the rounded id could answer another request. */
function isRounded(id: unknown): boolean {
  return typeof id === 'number' && Math.abs(id) > Number.MAX_SAFE_INTEGER;
}

/** The id exactly as written in the text, or null when it is not a signed or unsigned 64-bit integer. */
function exactId(text: string): bigint | null {
  const literal = lastMember(text, 'id');
  if (literal === undefined || !/^-?\d{1,20}$/.test(literal)) return null;
  const id = BigInt(literal);
  return id >= -(2n ** 63n) && id < 2n ** 64n ? id : null;
}

/** Matches the value of a member, or the beginning of it, after the name. */
const memberValue = /\s*:\s*([^\s,}]*)/y;

/** The literal value of a member of the outermost object. Of duplicates the last counts, as for JSON.parse. The text must be valid JSON. */
function lastMember(text: string, name: string): string | undefined {
  let found: string | undefined;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === code.openList || unit === code.openObject) depth += 1;
    else if (unit === code.closeList || unit === code.closeObject) depth -= 1;
    else if (unit === code.quote) {
      const end = endOfString(text, at);
      memberValue.lastIndex = end + 1;
      const value = depth === 1 ? memberValue.exec(text)?.[1] : undefined;
      if (value !== undefined && JSON.parse(text.slice(at, end + 1)) === name) found = value;
      at = end;
    }
  }
  return found;
}

function isErrorBody(value: unknown): value is RpcErrorBody {
  return isObject(value) && typeof value['code'] === 'number' && typeof value['message'] === 'string';
}

const code = { quote: 0x22, comma: 0x2c, backslash: 0x5c, openList: 0x5b, closeList: 0x5d, openObject: 0x7b, closeObject: 0x7d };

/**
 * Checks the limits on a long text before it is parsed, because parsing creates an object for every bracket: 64 MiB of them take gigabytes
 * and many seconds. Counts brackets and commas outside strings, at most two per value; a text too short to exceed the limit is not scanned.
 */
function bulkProblem(text: string, { jsonDepth, jsonValues }: JsonLimits): string | undefined {
  if (text.length <= 2 * jsonValues) return undefined;
  let depth = 0;
  let marks = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === code.quote) {
      at = endOfString(text, at);
      if (at < 0) return undefined; // not JSON, which the parser will report
    } else if (unit === code.closeList || unit === code.closeObject) {
      depth -= 1;
    } else if (unit === code.comma || unit === code.openList || unit === code.openObject) {
      marks += 1;
      if (unit !== code.comma) depth += 1;
      if (depth > jsonDepth) return tooDeep(jsonDepth);
      if (marks > 2 * jsonValues + 1) return tooMany(jsonValues);
    }
  }
  return undefined;
}

/** The index of the closing quote of the string that starts here, or -1. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === code.backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return -1;
}

function tooDeep(jsonDepth: number): string {
  return `message is nested deeper than ${jsonDepth} levels`;
}

function tooMany(jsonValues: number): string {
  return `message has more than ${jsonValues} values`;
}

/** Checks the limits on a parsed message. Iterative, so that depth costs no stack. */
function limitProblem(message: object, { jsonDepth, jsonValues }: JsonLimits): string | undefined {
  let values = 0;
  let level: object[] = [message];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > jsonDepth) return tooDeep(jsonDepth);
    const next: object[] = [];
    for (const container of level) {
      for (const value of Object.values(container) as unknown[]) {
        values += 1;
        if (typeof value === 'object' && value !== null) next.push(value);
      }
      if (values > jsonValues) return tooMany(jsonValues);
    }
    level = next;
  }
  return undefined;
}
