// A terminal's settings through stty(1), where libc cannot be called. That takes milliseconds, so it is asked only when it matters.

import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { type Termios, TerminalModes, type TerminalSettings, usualSettings } from '../input/terminal-modes.js';

/** stty needs a few milliseconds; one that hangs must not hold up the server. */
const sttyPatienceMs = 1_000;

/** An answer is recent for so many times what it took: a terminal that is full for long must not keep a core busy. */
const restPerAnswer = 30;

/** GNU stty waits until what the terminal has printed is read, which is done by this very thread; the BSD one does not. */
const atOnce = process.platform === 'linux' ? ['-drain'] : [];

export class SttyTermios implements Termios {
  readonly #path: string;
  #lastKnown = assumed(usualSettings);
  #recent: TerminalModes | undefined;
  #recentUntil = 0;

  /** The path of the slave. */
  constructor(path: string) {
    this.#path = path;
  }

  modes(age: 'lastKnown' | 'recent' | 'now'): TerminalModes {
    if (age === 'lastKnown') return this.#lastKnown;
    const askedAt = performance.now();
    if (age === 'recent' && this.#recent !== undefined && askedAt < this.#recentUntil) return this.#recent;
    const settings = parseStty(this.#stty('-a'));
    const answeredAt = performance.now();
    this.#recentUntil = answeredAt + restPerAnswer * (answeredAt - askedAt);
    this.#lastKnown = assumed(settings);
    this.#recent = new TerminalModes(settings);
    return this.#recent;
  }

  setEndOfFile(character: number): void {
    this.#stty(...atOnce, 'eof', `^${String.fromCharCode(character ^ 0x40)}`);
  }

  /** What it printed; nothing where there is no stty. Opened anew, because Node makes what a child inherits as its stdin blocking. */
  #stty(...args: string[]): string {
    const slave = openSync(this.#path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    try {
      const env = { ...process.env, LC_ALL: 'C' };
      const options = { timeout: sttyPatienceMs, encoding: 'latin1', env } as const;
      return spawnSync('stty', args, { ...options, stdio: [slave, 'pipe', 'ignore'] }).stdout ?? '';
    } finally {
      closeSync(slave);
    }
  }
}

/** Whatever the program may have changed since: nothing is taken for short enough that may be too long. */
function assumed(settings: TerminalSettings): TerminalModes {
  return new TerminalModes({ ...settings, isCanonical: true, marksParity: true });
}

/** What stty does not tell is as usual. */
function parseStty(text: string): TerminalSettings {
  const isSet = (flag: string, usual: boolean) => {
    const found = new RegExp(`(?:^|\\s)(-?)${flag}(?=[\\s;]|$)`).exec(text);
    return found === null ? usual : found[1] === '';
  };
  const character = (name: string, usual: number) => {
    const spelled = new RegExp(`(?:^|[\\s;])${name} = ([^;]+);`).exec(text)?.[1];
    return spelled === undefined ? usual : characterOf(spelled);
  };
  const usual = usualSettings.characters;
  return {
    isCanonical: isSet('icanon', true),
    hasSignals: isSet('isig', true),
    isExtended: isSet('iexten', true),
    marksParity: isSet('parmrk', false),
    carriageReturn: isSet('igncr', false) ? 'ignored' : isSet('icrnl', true) ? 'lineFeed' : 'kept',
    lineFeed: isSet('inlcr', false) ? 'carriageReturn' : 'kept',
    characters: {
      eof: character('eof', usual.eof),
      lineEnds: [character('eol', 0), character('eol2', 0)],
      signals: [character('intr', 0x03), character('quit', 0x1c), character('susp', 0x1a)],
      kill: character('kill', usual.kill),
      erase: character('erase', usual.erase),
      wordErase: character('werase', usual.wordErase),
      literalNext: character('lnext', usual.literalNext),
    },
  };
}

/** `^D`, `^?`, `x`, `M-^D`; `<undef>` and `undef` for none. */
function characterOf(spelled: string): number {
  if (spelled.includes('undef')) return 0;
  const high = spelled.startsWith('M-') ? 0x80 : 0;
  const rest = high === 0 ? spelled : spelled.slice(2);
  const code = rest.startsWith('^') && rest.length > 1 ? rest.charCodeAt(1) ^ 0x40 : rest.charCodeAt(0);
  return code | high;
}
