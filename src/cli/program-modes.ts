// Tracks, from a program's output, which modes it has set in our terminal, so that they can be reset.

/** Longest unfinished sequence kept for the next chunk, in characters. Sequences that set a mode are shorter. */
const maxRestLength = 64;

/** DEC private modes by their initial state. The alternate screens are not among them. */
const privateModes: Readonly<Record<'l' | 'h', ReadonlySet<string>>> = {
  // Cursor keys, reverse video, origin, keypad, margins, mouse, focus, bracketed paste, synchronised output, reports of colours and size.
  l: new Set('1 5 6 66 69 9 1000 1001 1002 1003 1004 1005 1006 1015 1016 2004 2026 2031 2048'.split(' ')),
  // Wrapping at the margin, and the cursor.
  h: new Set(['7', '25']),
};

const alternateScreens: ReadonlySet<string> = new Set(['47', '1047', '1049']);

/** Insert, and new line. */
const ansiModes: ReadonlySet<string> = new Set(['4', '20']);

type Screen = 'main' | 'alternate';

interface Control {
  readonly prefix: string;
  readonly parameters: readonly string[];
  /** Intermediate bytes and the final one. */
  readonly kind: string;
}

export class ProgramModes {
  /** The sequence that undoes each change. */
  readonly #undo = new Map<string, string>();
  /** How often kitty's keyboard flags were pushed; each screen has its own stack. */
  readonly #pushes: Record<Screen, number> = { main: 0, alternate: 0 };
  /** The mode that was set to enter the alternate screen. */
  #alternate: string | undefined;
  #hasRegion = false;
  #rest = '';

  see(bytes: Uint8Array): void {
    const text = this.#rest + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    const [, ...sequences] = text.split('\x1b');
    const [shiftedOut, shiftedIn] = [text.lastIndexOf('\x0e'), text.lastIndexOf('\x0f')];
    if (shiftedOut !== shiftedIn) this.#note('shift', { isChanged: shiftedOut > shiftedIn, undo: '\x0f' });
    for (const sequence of sequences) this.#read(sequence);
    const last = sequences.at(-1) ?? '';
    const isUnfinished = sequences.length > 0 && /^(?:\[[<=>?]?[\d;:]*[ -/]*|\(|)$/.test(last);
    this.#rest = isUnfinished && last.length < maxRestLength ? `\x1b${last}` : '';
  }

  /** Returns what resets the terminal to its initial state; empty when nothing was changed. */
  undo(): string {
    const isAlternate = this.#alternate !== undefined;
    // Resetting the margins moves the cursor home, which matters only on the main screen.
    const region = this.#hasRegion ? (isAlternate ? '\x1b[r' : '\x1b7\x1b[r\x1b8') : '';
    const leaving = isAlternate ? `${popped(this.#pushes.alternate)}\x1b[?${this.#alternate}l` : '';
    const undone = [region, leaving, popped(this.#pushes.main), ...this.#undo.values()].join('');
    this.#clear();
    return undone;
  }

  #read(sequence: string): void {
    const {
      prefix,
      parameters = '',
      kind,
      single,
    } = /^(?:\[(?<prefix>[<=>?]?)(?<parameters>[\d;:]*)(?<kind>[ -/]*[@-~])|(?<single>[=>c]|\([0-~]))/.exec(sequence)?.groups ??
    {};
    if (single !== undefined) this.#readSingle(single);
    else if (kind !== undefined) this.#readControl({ prefix: prefix ?? '', parameters: parameters.split(';'), kind });
  }

  #readSingle(single: string): void {
    if (single === 'c') this.#clear();
    else if (single === '=') this.#undo.set('keypad', '\x1b>');
    else if (single === '>') this.#undo.delete('keypad');
    else this.#note('charset', { isChanged: single !== '(B', undo: '\x1b(B' });
  }

  #readControl({ prefix, parameters, kind }: Control): void {
    const [first = '', second = ''] = parameters;
    switch (`${prefix}${kind}`) {
      case '?h':
      case '?l':
        for (const mode of parameters) this.#setPrivate(mode, kind);
        return;
      case 'h':
      case 'l':
        for (const mode of parameters)
          if (ansiModes.has(mode)) this.#note(mode, { isChanged: kind === 'h', undo: `\x1b[${mode}l` });
        return;
      case 'm':
        return this.#note('style', { isChanged: first !== '' && first !== '0', undo: '\x1b[0m' });
      case ' q':
        return this.#note('cursor', { isChanged: first !== '' && first !== '0', undo: '\x1b[0 q' });
      case 'r':
        this.#hasRegion = first !== '' || second !== '';
        return;
      case '>m':
        if (first === '4') this.#note('modifyOtherKeys', { isChanged: second !== '' && second !== '0', undo: '\x1b[>4m' });
        return;
      case '=u':
        return this.#note('keyboard', { isChanged: first !== '' && first !== '0', undo: '\x1b[=0u' });
      case '>u':
        this.#pushes[this.#screen] += 1;
        return;
      case '<u':
        this.#pushes[this.#screen] = Math.max(this.#pushes[this.#screen] - Math.max(Number(first), 1), 0);
    }
  }

  get #screen(): Screen {
    return this.#alternate === undefined ? 'main' : 'alternate';
  }

  #setPrivate(mode: string, to: string): void {
    if (alternateScreens.has(mode)) this.#alternate = to === 'h' ? mode : undefined;
    else if (privateModes.l.has(mode)) this.#note(`?${mode}`, { isChanged: to === 'h', undo: `\x1b[?${mode}l` });
    else if (privateModes.h.has(mode)) this.#note(`?${mode}`, { isChanged: to === 'l', undo: `\x1b[?${mode}h` });
  }

  #note(name: string, { isChanged, undo }: { readonly isChanged: boolean; readonly undo: string }): void {
    if (isChanged) this.#undo.set(name, undo);
    else this.#undo.delete(name);
  }

  #clear(): void {
    this.#undo.clear();
    this.#pushes.main = 0;
    this.#pushes.alternate = 0;
    this.#alternate = undefined;
    this.#hasRegion = false;
  }
}

function popped(times: number): string {
  return times === 0 ? '' : `\x1b[<${times}u`;
}
