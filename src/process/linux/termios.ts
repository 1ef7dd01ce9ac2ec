// Reads and changes a terminal's settings by ioctl, in the kernel's struct layout.

import { type Termios, TerminalModes } from '../input/terminal-modes.js';
import type { Libc } from './libc.js';

const TCGETS = 0x5401;
const TCSETS = 0x5402;

/** struct termios of the kernel: four words of flags, the line discipline, 19 characters. */
const termiosBytes = 36;
const [iflagAt, lflagAt, charactersAt] = [0, 12, 17];

const PARMRK = 0x8;
const INLCR = 0x40;
const IGNCR = 0x80;
const ICRNL = 0x100;
const ISIG = 0x1;
const ICANON = 0x2;
const IEXTEN = 0x8000;

/** Indexes into the array of characters. */
const [VINTR, VQUIT, VERASE, VKILL, VEOF] = [0, 1, 2, 3, 4];
const [VSUSP, VEOL, VWERASE, VLNEXT, VEOL2] = [10, 11, 14, 15, 16];

export class LinuxTermios implements Termios {
  readonly #libc: Libc;
  /** An ioctl on the master reads and changes the settings of the slave. */
  readonly #master: number;
  #raw: Buffer = Buffer.alloc(termiosBytes);
  #modes: TerminalModes | undefined;

  constructor(libc: Libc, master: number) {
    this.#libc = libc;
    this.#master = master;
  }

  modes(): TerminalModes {
    const raw = this.#read();
    if (this.#modes === undefined || !raw.equals(this.#raw)) this.#modes = modesOf(raw);
    this.#raw = raw;
    return this.#modes;
  }

  setEndOfFile(character: number): void {
    const raw = this.#read();
    raw[charactersAt + VEOF] = character;
    this.#libc.ioctl(this.#master, TCSETS, 'void *', raw);
  }

  #read(): Buffer {
    const raw = Buffer.alloc(termiosBytes);
    // This fails only for a closed master, to which nothing can be written anyway: the last settings will do.
    return this.#libc.ioctl(this.#master, TCGETS, 'void *', raw) === 0 ? raw : this.#raw;
  }
}

function modesOf(raw: Buffer): TerminalModes {
  const iflag = raw.readUInt32LE(iflagAt);
  const lflag = raw.readUInt32LE(lflagAt);
  const character = (index: number) => raw[charactersAt + index] ?? 0;
  return new TerminalModes({
    isCanonical: (lflag & ICANON) !== 0,
    hasSignals: (lflag & ISIG) !== 0,
    isExtended: (lflag & IEXTEN) !== 0,
    marksParity: (iflag & PARMRK) !== 0,
    carriageReturn: (iflag & IGNCR) !== 0 ? 'ignored' : (iflag & ICRNL) !== 0 ? 'lineFeed' : 'kept',
    lineFeed: (iflag & INLCR) !== 0 ? 'carriageReturn' : 'kept',
    characters: {
      eof: character(VEOF),
      lineEnds: [character(VEOL), character(VEOL2)],
      signals: [character(VINTR), character(VQUIT), character(VSUSP)],
      kill: character(VKILL),
      erase: character(VERASE),
      wordErase: character(VWERASE),
      literalNext: character(VLNEXT),
    },
  });
}
