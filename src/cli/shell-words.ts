// Splits a command line as a shell would, without running anything in it, and quotes a word for a shell.

import { UsageError } from './command.js';
import { visible } from './visible-text.js';

/** Blanks separate words; quotes and backslashes keep them together. */
export function splitShellWords(text: string): string[] {
  const words: string[] = [];
  const piece = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gsy;
  let word: string | undefined;
  while (piece.lastIndex < text.length) {
    const at = piece.lastIndex;
    const found = piece.exec(text);
    if (found === null) throw new UsageError(`unclosed quote in: ${text.slice(at)}`);
    const [whole, single, double, escaped, plain] = found;
    const part = single ?? double?.replaceAll(/\\([$`"\\\n])/g, '$1') ?? escaped ?? plain;
    if (part !== undefined) word = (word ?? '') + part;
    else if (whole !== '' && word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}

/** As one would type it, with control characters made visible so that they cannot affect the terminal. */
export function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${visible(word).replaceAll("'", `'\\''`)}'`;
}
