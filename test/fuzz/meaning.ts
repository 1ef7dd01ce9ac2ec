// What a message requires of the server, determined by a second, simpler reader of the protocol than the server's own.

export type Meaning =
  /** Exactly one answer with this id. */
  | { readonly kind: 'request'; readonly id: string | number }
  /** One answer, with this id or, if it was too large to read or its id is invalid, with -1. */
  | { readonly kind: 'immense'; readonly id: string | number }
  /** No answer, or one with -1: if it arrived at the wrong time, or is a reply with an invalid id. */
  | { readonly kind: 'notification' }
  /** Exactly one answer with -1. */
  | { readonly kind: 'malformed' }
  /** No answer: a blank line, an unexpected reply, a ping. */
  | { readonly kind: 'silent' }
  /** The server closes or refuses the connection. */
  | { readonly kind: 'fatal' }
  /** The rest never arrives: nothing more can be sent on this connection. */
  | { readonly kind: 'unfinished' };

/** The server's default limits refuse messages above these. */
const deepest = 64;
const widest = 262_144;

/** As a line of a stream; a blank line has no meaning. */
export function meaningOfLine(payload: Buffer): Meaning {
  if (payload[0] === 0x01) return { kind: 'unfinished' };
  return /^[ \t\v\f\r]*$/.test(payload.toString()) ? { kind: 'silent' } : meaningOfText(payload);
}

/** As the payload of a WebSocket text message. */
export function meaningOfTextMessage(payload: Buffer): Meaning {
  return isUtf8(payload) ? meaningOfText(payload) : { kind: 'fatal' };
}

/** As the payload of a WebSocket binary message. */
export function meaningOfBinaryMessage(payload: Buffer): Meaning {
  if (payload[0] === 0x01) return { kind: 'fatal' };
  return '{ \t\r\n'.includes(String.fromCharCode(payload[0] ?? 0)) ? meaningOfText(payload) : { kind: 'malformed' };
}

function meaningOfText(payload: Buffer): Meaning {
  const message = isUtf8(payload) ? parsed(payload.toString()) : undefined;
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return { kind: 'malformed' };
  const { id, method, error } = message as Record<string, unknown>;
  // Beyond 2^53 the digits decide whether it is a valid id, and JSON.parse has lost them.
  const isRounded = typeof id === 'number' && Math.abs(id) > Number.MAX_SAFE_INTEGER;
  const hasId = typeof id === 'string' || Number.isSafeInteger(id) || isRounded;
  if (id !== undefined && !hasId) return { kind: 'malformed' };
  if (isRounded && typeof method !== 'string') return { kind: 'notification' };
  if (isImmense(message) || isRounded)
    return hasId && typeof method === 'string' ? { kind: 'immense', id: id as string } : { kind: 'malformed' };
  if (method !== undefined) {
    if (typeof method !== 'string') return { kind: 'malformed' };
    // An answer to id -1 is indistinguishable from an answer to something malformed.
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

/** Fails for a byte order mark, which is not JSON and which toString keeps. */
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
