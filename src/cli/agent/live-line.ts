// A sign of life on a terminal: while a run says nothing, the seconds since its last word are shown behind the cursor, once a second, and
// erased before anything else is printed. The cursor stays where it is, so a line that was begun goes on as if nothing had happened.

import { stripVTControlCharacters } from 'node:util';

/** Between two redraws: what is drawn counts seconds. */
const redrawMs = 1_000;

const eraseToLineEnd = '\u001b[K';

export interface LiveLineContext {
  /** To the terminal, in order with everything else that is printed to it. */
  readonly draw: (text: string) => void;
  readonly paint: (text: string) => string;
  /** Of the terminal, at this moment. */
  readonly columns: () => number;
}

export class LiveLine {
  readonly #context: LiveLineContext;
  #timer: NodeJS.Timeout | undefined;
  /** Since the last word. The first may come right after it. */
  #ticks = 0;
  #label = '';
  #isDrawn = false;
  /** Where the cursor is, counted from the last line break; undefined behind a character whose width is not certain. */
  #column: number | undefined = 0;

  constructor(context: LiveLineContext) {
    this.#context = context;
  }

  /** Something is waited for from now on, or still. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#ticks = 0;
    this.#timer = setInterval(() => this.#tick(), redrawMs);
  }

  /** Nothing is waited for any more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#label = '';
    const erase = this.#erase();
    if (erase !== '') this.#context.draw(erase);
  }

  /** What the program says it is doing, shown beside the seconds. */
  describe(label: string): void {
    this.#label = label;
  }

  /** What to print in the text's place: the sign goes before it comes. */
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

  /** As much as fits behind the cursor: what wraps could not be erased. Nothing when the cursor is not surely known. */
  #sign(): string {
    const [column, columns, seconds] = [this.#column, this.#context.columns(), this.#ticks - 1];
    if (column === undefined || seconds < 1) return '';
    // Behind a line that is exactly full the cursor is still on its last character.
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

/** Each character takes one column on every terminal. */
function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text);
}
