// Translates key names into the bytes that a terminal sends for them.

import { UsageError } from './command.js';

const named: Readonly<Record<string, string>> = {
  enter: '\r',
  tab: '\t',
  space: ' ',
  escape: '\x1b',
  backspace: '\x7f',
  delete: '\x1b[3~',
  insert: '\x1b[2~',
  up: '\x1b[A',
  down: '\x1b[B',
  right: '\x1b[C',
  left: '\x1b[D',
  home: '\x1b[H',
  end: '\x1b[F',
  'page-up': '\x1b[5~',
  'page-down': '\x1b[6~',
  'shift-tab': '\x1b[Z',
  f1: '\x1bOP',
  f2: '\x1bOQ',
  f3: '\x1bOR',
  f4: '\x1bOS',
  f5: '\x1b[15~',
  f6: '\x1b[17~',
  f7: '\x1b[18~',
  f8: '\x1b[19~',
  f9: '\x1b[20~',
  f10: '\x1b[21~',
  f11: '\x1b[23~',
  f12: '\x1b[24~',
};

export const keyNames: readonly string[] = Object.keys(named);

/** `enter`, `f1`, `ctrl-c`, `alt-x`, or a single character. */
export function parseKey(name: string): string {
  const lower = name.toLowerCase();
  if (Object.hasOwn(named, lower)) return named[lower] ?? '';
  const [, modifier, base = ''] = /^(ctrl|alt)-(.+)$/su.exec(name) ?? [];
  if (modifier === 'alt') return `\x1b${parseKey(base)}`;
  if (modifier === 'ctrl' && /^[a-z@[\\\]^_]$/i.test(base)) return String.fromCodePoint(base.toUpperCase().charCodeAt(0) & 0x1f);
  if (/^.$/su.test(name)) return name;
  throw new UsageError(`unknown key "${name}"; use a character, ctrl-c, alt-x, or one of ${keyNames.join(', ')}`);
}
