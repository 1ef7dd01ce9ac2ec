// Reads and changes a terminal's settings with stty(1), where libc cannot be called. stty takes milliseconds, so it runs only when needed.

import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { type Termios, TerminalModes, type TerminalSettings, usualSettings } from '../input/terminal-modes.js';

/** stty takes a few milliseconds; a hanging one must not block the server. */
const sttyTimeoutMs = 1_000;

/** A result stays recent for this many times the duration of the query, so that a terminal that stays full does not keep a core busy. */
const restPerAnswer = 30;

/** GNU stty by default waits until the terminal's output is read, which only this blocked thread could do; BSD stty does not wait. */
const atOnce = process.platform === 'linux' ? ['-drain'] : [];

export class SttyTermios implements Termios {
  readonly #path: string;
  #lastKnown = assumed(usualSettings);
  #recent: TerminalModes | undefined;
  #recentUntil = 0;

  /** `path` is the slave's. */
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

  /** Returns what stty printed; empty without stty. Opens the slave anew, because Node makes a descriptor that it passes on blocking. */
  #stty(...args: string[]): string {
    const slave = openSync(this.#path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    try {
      const env = { ...process.env, LC_ALL: 'C' };
      const options = { timeout: sttyTimeoutMs, encoding: 'latin1', env } as const;
      return spawnSync('stty', args, { ...options, stdio: [slave, 'pipe', 'ignore'] }).stdout ?? '';
    } finally {
      closeSync(slave);
    }
  }
}

/** The strictest settings that the program may have switched to since, so that no line is wrongly assumed to fit. */
function assumed(settings: TerminalSettings): TerminalModes {
  return new TerminalModes({ ...settings, isCanonical: true, marksParity: true });
}

/** Settings that stty does not print have their usual values. */
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
