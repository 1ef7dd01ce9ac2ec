// Measures how many terminal columns a text takes, and cuts or pads it to a number of columns.

/** Take no column: combining marks and invisible characters. */
const narrow = /[\p{Mn}\p{Me}\p{Cf}]/u;

/** Take two columns: East Asian characters and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;

export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += characterColumns(character);
  return columns;
}

/** As much as fits, with an ellipsis for the rest. */
export function cutTo(columns: number, text: string): string {
  if (columnsOf(text) <= columns) return text;
  let cut = '';
  let left = columns - 1;
  for (const character of text) {
    left -= characterColumns(character);
    if (left < 0) break;
    cut += character;
  }
  return columns > 0 ? `${cut}…` : '';
}

export function padTo(columns: number, text: string): string {
  return text + ' '.repeat(Math.max(columns - columnsOf(text), 0));
}

function characterColumns(character: string): number {
  return narrow.test(character) ? 0 : wide.test(character) ? 2 : 1;
}
