// What a terminal shows again of what was typed into it. It comes between the program's own lines, and must not be taken for one of them.

/** The end-of-input key as a terminal shows it, and how it is taken back. */
const endKey = /\^D[\b]*/g;

/** A prompt of more lines than this is not followed to its end; what is shown of the rest comes through as text. */
const maxTypedLines = 10_000;

export class TerminalEcho {
  /** Typed, and not yet shown. */
  #typed: string[] = [];
  /** The last line was typed without a line feed, so what the program prints next stands behind it. */
  #isLineOpen = false;

  typed(text: string): void {
    const lines = text.split('\n').map((line) => line.trim());
    this.#typed = [...this.#typed, ...lines.filter((line) => line !== '')].slice(-maxTypedLines);
    this.#isLineOpen = !text.endsWith('\n');
  }

  /** The line without what it shows of typed ones, each of which is shown once and in its order; empty when nothing else is in it. */
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
