// Reads JSON that another program wrote. A member that is missing or of another type is undefined; nothing here throws.

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectIn(value: unknown, name: string): JsonObject | undefined {
  const member = memberOf(value, name);
  return isObject(member) ? member : undefined;
}

export function listIn(value: unknown, name: string): readonly unknown[] | undefined {
  const member = memberOf(value, name);
  return Array.isArray(member) ? member : undefined;
}

export function stringIn(value: unknown, name: string): string | undefined {
  const member = memberOf(value, name);
  return typeof member === 'string' ? member : undefined;
}

export function numberIn(value: unknown, name: string): number | undefined {
  const member = memberOf(value, name);
  return typeof member === 'number' && Number.isFinite(member) ? member : undefined;
}

export function booleanIn(value: unknown, name: string): boolean | undefined {
  const member = memberOf(value, name);
  return typeof member === 'boolean' ? member : undefined;
}

/** A missing or negative count is 0. */
export function countIn(value: unknown, name: string): number {
  return Math.max(numberIn(value, name) ?? 0, 0);
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
