// How a terminal treats its input, as far as a writer must know: where lines end, and how long a line may be.
// In canonical mode the kernel silently drops the part of a line that exceeds the limit.

/** The special characters of a terminal, and the flags that enable them. 0 stands for a disabled character. */
export interface TerminalSettings {
  readonly isCanonical: boolean;
  /** Whether signal characters take effect (ISIG). */
  readonly hasSignals: boolean;
  /** Whether the characters beyond POSIX take effect (IEXTEN). */
  readonly isExtended: boolean;
  /** Whether a byte may take the space of three (PARMRK). */
  readonly marksParity: boolean;
  readonly carriageReturn: 'kept' | 'ignored' | 'lineFeed';
  readonly lineFeed: 'kept' | 'carriageReturn';
  readonly characters: {
    readonly eof: number;
    /** In addition to the line feed. */
    readonly lineEnds: readonly number[];
    readonly signals: readonly number[];
    readonly kill: number;
    readonly erase: number;
    readonly wordErase: number;
    readonly literalNext: number;
  };
}

/** Longest line in canonical mode, without its line end: N_TTY_BUF_SIZE on Linux, MAX_CANON on macOS, less one. */
const maxLineBytes = process.platform === 'linux' ? 4_095 : 1_023;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** The effect of a byte on the current line. */
const stored = 0;
const ends = 1;
const clears = 2;
const erases = 3;
const quotes = 4;
const ignored = 5;

export class TerminalModes {
  readonly isCanonical: boolean;
  /** Undefined when the character is disabled. */
  readonly endOfFile: number | undefined;
  readonly maxLineBytes: number;
  readonly #effects = new Uint8Array(256);

  constructor(settings: TerminalSettings) {
    const { characters } = settings;
    this.isCanonical = settings.isCanonical;
    this.endOfFile = characters.eof === 0 ? undefined : characters.eof;
    this.maxLineBytes = settings.marksParity ? Math.floor(maxLineBytes / 3) : maxLineBytes;
    this.#set(erases, characters.erase);
    this.#set(clears, characters.kill);
    if (settings.isExtended) this.#set(erases, characters.wordErase);
    if (settings.isExtended) this.#set(quotes, characters.literalNext);
    if (settings.hasSignals) this.#set(clears, ...characters.signals);
    this.#set(ends, characters.eof, ...characters.lineEnds);
    if (settings.lineFeed === 'kept') this.#set(ends, lineFeed);
    if (settings.carriageReturn === 'lineFeed') this.#set(ends, carriageReturn);
    if (settings.carriageReturn === 'ignored') this.#set(ignored, carriageReturn);
  }

  effectOf(byte: number): number {
    return this.#effects[byte] ?? stored;
  }

  #set(effect: number, ...bytes: readonly number[]): void {
    for (const byte of bytes) if (byte !== 0) this.#effects[byte] = effect;
  }
}

/** The settings that every terminal starts with. */
export const usualSettings: TerminalSettings = {
  isCanonical: true,
  hasSignals: true,
  isExtended: true,
  marksParity: false,
  carriageReturn: 'lineFeed',
  lineFeed: 'kept',
  characters: {
    eof: 0x04,
    lineEnds: [],
    signals: [0x03, 0x1c, 0x1a],
    kill: 0x15,
    erase: 0x7f,
    wordErase: 0x17,
    literalNext: 0x16,
  },
};

/** A terminal's settings, and a way to give it an end-of-file character. */
export interface Termios {
  /**
   * Where a query is slow, `lastKnown` may be older than the program's last change, so it reports canonical mode with the shortest lines;
   * `recent` is then at most a fraction of a second old, so that a writer can ask repeatedly while the terminal is full.
   */
  modes(age: 'lastKnown' | 'recent' | 'now'): TerminalModes;
  setEndOfFile(character: number): void;
}

/** Counts the bytes of the unfinished line that a terminal cannot pass to a reader yet. */
export class InputLine {
  #bytes = 0;
  #isQuoted = false;
  #last: number | undefined;

  /** Whether nothing has been typed since the end of a line. */
  isAtStart(modes: TerminalModes): boolean {
    return this.#last === undefined || modes.effectOf(this.#last) === ends;
  }

  clear(): void {
    this.#bytes = 0;
    this.#last = undefined;
    this.#isQuoted = false;
  }

  /** How many of these bytes can be typed before the line gets too long; all of them if a line end comes in time. */
  roomFor(bytes: Uint8Array, modes: TerminalModes): number {
    if (this.#bytes + bytes.length <= modes.maxLineBytes) return bytes.length;
    const line = new InputLine();
    line.#bytes = this.#bytes;
    line.#isQuoted = this.#isQuoted;
    for (let at = 0; at < bytes.length; at += 1) {
      line.#type(bytes[at] ?? 0, modes);
      if (line.#bytes > modes.maxLineBytes) return at;
    }
    return bytes.length;
  }

  type(bytes: Uint8Array, modes: TerminalModes): void {
    for (const byte of bytes) this.#type(byte, modes);
    this.#last = bytes.at(-1) ?? this.#last;
  }

  #type(byte: number, modes: TerminalModes): void {
    const effect = this.#isQuoted ? stored : modes.effectOf(byte);
    this.#isQuoted = effect === quotes;
    if (effect === stored) this.#bytes += 1;
    else if (effect === ends || effect === clears) this.#bytes = 0;
    else if (effect === erases) this.#bytes = Math.max(0, this.#bytes - 1);
  }
}
