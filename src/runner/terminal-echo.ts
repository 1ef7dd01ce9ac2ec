// Removes the echo of typed input from a terminal's output, where it appears between the program's own lines and must not be mistaken for
// one.

/** The echo of the end-of-input key, and the backspaces that erase it. */
const endKey = /\^D[\b]*/g;

/** Of a longer prompt only the last lines are recognised; the echo of the others comes through as text. */
const maxTypedLines = 10_000;

export class TerminalEcho {
  /** Typed, and not yet echoed. */
  #typed: string[] = [];
  /** The last typed line had no line feed, so the program's next output follows it on the same line. */
  #isLineOpen = false;

  typed(text: string): void {
    const lines = text.split('\n').map((line) => line.trim());
    this.#typed = [...this.#typed, ...lines.filter((line) => line !== '')].slice(-maxTypedLines);
    this.#isLineOpen = !text.endsWith('\n');
  }

  /** The line without the echo of typed lines, each of which is echoed once and in order; empty when it contains nothing else. */
  strip(line: string): string {
    const open = this.#isLineOpen ? this.#typed.at(-1) : undefined;
    if (this.#typed.length === 0) return line;
    const shown = line.replaceAll(endKey, '').trim();
    const at = this.#typed.indexOf(shown);
    if (at < 0 && (open === undefined || !shown.startsWith(open))) return line;
    this.#typed = at < 0 ? [] : this.#typed.slice(at + 1);
    return at < 0 ? shown.slice(open?.length) : '';
  }
}
