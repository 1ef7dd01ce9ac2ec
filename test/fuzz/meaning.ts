// What a message asks of the server, found out by a second, simpler reader of the protocol than the server's own.

export type Meaning =
  /** Exactly one answer with this id. */
  | { readonly kind: 'request'; readonly id: string | number }
  /** One answer, with this id or, when it was too much to read or its id is none, with -1. */
  | { readonly kind: 'immense'; readonly id: string | number }
  /** No answer, or one with -1: when it came at the wrong time, or is a reply whose id is none. */
  | { readonly kind: 'notification' }
  /** Exactly one answer with -1. */
  | { readonly kind: 'malformed' }
  /** No answer: a blank line, a reply to nothing, a ping. */
  | { readonly kind: 'silent' }
  /** The server closes the connection, or refuses to have one. */
  | { readonly kind: 'fatal' }
  /** The rest will not come: nothing more can be asked of this connection. */
  | { readonly kind: 'unfinished' };

/** Messages above these are refused by the server's default limits. */
const deepest = 64;
const widest = 262_144;

/** As a line of a stream; a line that is blank says nothing. */
export function meaningOfLine(payload: Buffer): Meaning {
  if (payload[0] === 0x01) return { kind: 'unfinished' };
  return /^[ \t\v\f\r]*$/.test(payload.toString()) ? { kind: 'silent' } : meaningOfText(payload);
}

/** As the payload of a WebSocket message of text. */
export function meaningOfTextMessage(payload: Buffer): Meaning {
  return isUtf8(payload) ? meaningOfText(payload) : { kind: 'fatal' };
}

/** As the payload of a WebSocket message of bytes. */
export function meaningOfBinaryMessage(payload: Buffer): Meaning {
  if (payload[0] === 0x01) return { kind: 'fatal' };
  return '{ \t\r\n'.includes(String.fromCharCode(payload[0] ?? 0)) ? meaningOfText(payload) : { kind: 'malformed' };
}

function meaningOfText(payload: Buffer): Meaning {
  const message = isUtf8(payload) ? parsed(payload.toString()) : undefined;
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return { kind: 'malformed' };
  const { id, method, error } = message as Record<string, unknown>;
  // Past 2^53 its digits decide whether it is an id, and this reader has lost them.
  const isRounded = typeof id === 'number' && Math.abs(id) > Number.MAX_SAFE_INTEGER;
  const hasId = typeof id === 'string' || Number.isSafeInteger(id) || isRounded;
  if (id !== undefined && !hasId) return { kind: 'malformed' };
  if (isRounded && typeof method !== 'string') return { kind: 'notification' };
  if (isImmense(message) || isRounded)
    return hasId && typeof method === 'string' ? { kind: 'immense', id: id as string } : { kind: 'malformed' };
  if (method !== undefined) {
    if (typeof method !== 'string') return { kind: 'malformed' };
    // An answer to -1 could not be told from an answer to something malformed.
    if (id === -1) return { kind: 'immense', id };
    return hasId ? { kind: 'request', id: id as string } : { kind: 'notification' };
  }
  if (!hasId) return { kind: 'malformed' };
  return 'result' in message || isError(error) ? { kind: 'silent' } : { kind: 'malformed' };
}

function isError(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { code, message } = value as Record<string, unknown>;
  return typeof code === 'number' && typeof message === 'string';
}

function isUtf8(payload: Buffer): boolean {
  return Buffer.from(payload.toString()).equals(payload);
}

/** Without a byte order mark, which is no JSON and which toString keeps. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON
  }
}

function isImmense(message: object): boolean {
  let level: object[] = [message];
  let values = 0;
  for (let depth = 1; level.length > 0; depth += 1) {
    const inside = level.flatMap((container) => Object.values(container) as unknown[]);
    values += inside.length;
    if (depth > deepest || values > widest) return true;
    level = inside.filter((value): value is object => typeof value === 'object' && value !== null);
  }
  return false;
}
