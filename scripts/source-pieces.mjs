// Which line of src each piece of a compiled, bundled or packed script comes from, by its source map.

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {{ offset: number, file: string, line: number, text: string }} Piece from an offset of the script up to the next piece or the end of the line;
 * `file` is absolute, `line` counted from 1
 */

/** Those of a script with a map beside it, in their order. */
export function piecesOf(script) {
  if (!existsSync(`${script}.map`)) return [];
  return piecesOfText(readFileSync(script, 'utf8'), JSON.parse(readFileSync(`${script}.map`, 'utf8')), path.dirname(script));
}

/** `folder` is what the sources in the map are relative to. */
export function piecesOfText(text, { sources, mappings }, folder) {
  const lineStarts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const files = sources.map((source) => path.resolve(folder, source));
  const pieces = segmentsOf(mappings).map(({ line, column, source, sourceLine }) => ({
    offset: lineStarts[line] + column,
    file: files[source],
    line: sourceLine + 1,
  }));
  return pieces.map((piece, index) => {
    const [firstLine] = text.slice(piece.offset, pieces[index + 1]?.offset).split('\n', 1);
    return { ...piece, text: firstLine };
  });
}

/** What the letters of a source map say: https://tc39.es/ecma426/#sec-mappings */
function segmentsOf(mappings) {
  let [source, sourceLine] = [0, 0];
  return mappings.split(';').flatMap((group, line) => {
    let column = 0;
    const segments = [];
    for (const letters of group === '' ? [] : group.split(',')) {
      const [columns, sources, sourceLines] = numbersIn(letters);
      column += columns;
      if (sources === undefined) continue;
      source += sources;
      sourceLine += sourceLines;
      segments.push({ line, column, source, sourceLine });
    }
    return segments;
  });
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Five bits a letter, the lowest first; the sixth says that more follow, the very first is the sign. */
function numbersIn(letters) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const letter of letters) {
    const bits = alphabet.indexOf(letter);
    value += (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    numbers.push((value & 1) === 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}
