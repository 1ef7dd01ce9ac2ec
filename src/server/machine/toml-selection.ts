// Cuts a TOML document down to the requested keys.

import { TomlError, type TomlTable, type TomlValue, parse, stringify } from 'smol-toml';

export { TomlError, type TomlTable };

/** Integers become bigint, so that 1 and 1.0 stay what they are. Throws with line and column. */
export function parseToml(text: string): TomlTable {
  return parse(text, { integersAsBigInt: true });
}

/** Undefined if none of the paths leads to something. A path that continues below a value which is no table takes that value. */
export function selectToml(table: TomlTable, paths: readonly (readonly string[])[]): string | undefined {
  const selected: TomlTable = {};
  for (const path of paths) take(table, selected, path);
  return Object.keys(selected).length === 0 ? undefined : stringify(selected, { numbersAsFloat: true });
}

function take(from: TomlTable, into: TomlTable, [name, ...rest]: readonly string[]): void {
  if (name === undefined || !Object.hasOwn(from, name)) return;
  const value = from[name];
  if (value === undefined) return;
  if (rest.length === 0 || !isTable(value)) {
    define(into, name, value);
    return;
  }
  const known = Object.hasOwn(into, name) ? into[name] : undefined;
  if (known === value) return; // asked for as a whole already
  const inner = known !== undefined && isTable(known) ? known : {};
  take(value, inner, rest);
  if (Object.keys(inner).length > 0) define(into, name, inner);
}

export function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);
}

/** A key may have any name, such as `__proto__`. */
function define(table: TomlTable, name: string, value: TomlValue): void {
  Object.defineProperty(table, name, { value, enumerable: true, configurable: true, writable: true });
}
