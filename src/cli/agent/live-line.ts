// A sign of life on a terminal: while a run is silent, the seconds since its last output are shown after the cursor, redrawn every second,
// and erased before anything else is printed. The cursor does not move, so an unfinished line continues undisturbed.

import { stripVTControlCharacters } from 'node:util';

/** Time between redraws: the line counts seconds. */
const redrawMs = 1_000;

const eraseToLineEnd = '\u001b[K';

export interface LiveLineContext {
  /** Writes to the terminal, in order with everything else that is printed there. */
  readonly draw: (text: string) => void;
  readonly paint: (text: string) => string;
  /** The current width of the terminal. */
  readonly columns: () => number;
}

export class LiveLine {
  readonly #context: LiveLineContext;
  #timer: NodeJS.Timeout | undefined;
  /** Timer ticks since the last output. The first may follow it immediately, so it does not count as a second. */
  #ticks = 0;
  #label = '';
  #isDrawn = false;
  /** Cursor column, counted from the last line break; undefined after a character of uncertain width. */
  #column: number | undefined = 0;

  constructor(context: LiveLineContext) {
    this.#context = context;
  }

  /** Starts counting, unless it has already started. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#ticks = 0;
    this.#timer = setInterval(() => this.#tick(), redrawMs);
  }

  /** Stops counting and erases the line. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#label = '';
    const erase = this.#erase();
    if (erase !== '') this.#context.draw(erase);
  }

  /** Sets what the program reports it is doing, shown next to the seconds. */
  describe(label: string): void {
    this.#label = label;
  }

  /** Returns what to print instead of `text`, so that the line is erased first. */
  replacedBy(text: string): string {
    if (text === '') return '';
    this.#ticks = 0;
    this.#label = '';
    this.#column = columnAfter(stripVTControlCharacters(text), this.#column);
    return this.#erase() + text;
  }

  #tick(): void {
    this.#ticks += 1;
    const sign = this.#sign();
    if (sign === '') return;
    this.#isDrawn = true;
    this.#context.draw(`${eraseToLineEnd}${this.#context.paint(sign)}\u001b[${sign.length}D`);
  }

  /** As much as fits after the cursor, because wrapped text could not be erased. Empty when the cursor column is not known. */
  #sign(): string {
    const [column, columns, seconds] = [this.#column, this.#context.columns(), this.#ticks - 1];
    if (column === undefined || seconds < 1) return '';
    // After a line that is exactly full, the cursor is still on its last character.
    const room = column > 0 && column % columns === 0 ? 0 : columns - (column % columns) - 1;
    const label = this.#label !== '' && isPlain(this.#label) ? `, ${this.#label}` : '';
    return `${column === 0 ? '' : ' '}... ${seconds} s${label}`.slice(0, room);
  }

  #erase(): string {
    const erase = this.#isDrawn ? eraseToLineEnd : '';
    this.#isDrawn = false;
    return erase;
  }
}

function columnAfter(text: string, before: number | undefined): number | undefined {
  const lastBreak = text.lastIndexOf('\n');
  const line = text.slice(lastBreak + 1);
  const start = lastBreak < 0 ? before : 0;
  return start === undefined || !isPlain(line) ? undefined : start + line.length;
}

/** Whether every character takes one column on every terminal. */
function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text);
}
