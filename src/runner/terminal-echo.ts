// What a terminal shows again of what was typed into it. It comes between the program's own lines, and must not be taken for one of them.

/** The end-of-input key as a terminal shows it, and how it is taken back. */
const endKey = /\^D[\b]*/g;

/** A prompt of more lines than this is not followed to its end; what is shown of the rest comes through as text. */
const maxTypedLines = 10_000;

export class TerminalEcho {
  /** Typed, and not yet shown. */
  #typed: string[] = [];

  typed(text: string): void {
    const lines = text.split('\n').map((line) => line.trim());
    this.#typed = [...this.#typed, ...lines.filter((line) => line !== '')].slice(-maxTypedLines);
  }

  /** True for the first line that shows a typed one. Lines are shown in the order they were typed. */
  isEcho(line: string): boolean {
    if (this.#typed.length === 0) return false;
    const at = this.#typed.indexOf(line.replaceAll(endKey, '').trim());
    if (at >= 0) this.#typed = this.#typed.slice(at + 1);
    return at >= 0;
  }
}
