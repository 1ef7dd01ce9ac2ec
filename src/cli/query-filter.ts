// Takes out of old output what asks the terminal for an answer: cursor position, colours, modes, names. The answers would arrive as
// typed keys, long after the program that asked has gone. Everything else passes byte for byte. Works on bytes, and on sequences that
// are split over chunks. Knows the seven-bit forms only: under UTF-8 the eight-bit ones are parts of letters.

import type { ByteFilter } from './plain-text.js';

/**
 * Longest sequence that is held back until its end shows what it is, in bytes. Queries have a few dozen; a longer sequence, such as a
 * clipboard's content, is none and passes.
 */
export const maxHeldBytes = 4096;

/** Bytes of an unfinished string that are looked at, again with each that comes: what it is shows in its first few. */
const judgedBytes = 256;

const enq = 0x05;
const bell = 0x07;
const cancel = 0x18;
const substitute = 0x1a;
const escape = 0x1b;
const semicolon = 0x3b;
const backslash = 0x5c;

/** The strings that may ask, by the byte after the escape character. */
const introducers = { 0x50: 'dcs', 0x5d: 'osc', 0x5f: 'apc' } as const;

type StringKind = (typeof introducers)[keyof typeof introducers];

/** `passthrough` is what tmux hands through to the terminal outside: every escape character of its own is doubled. */
type QueryKind = 'query' | 'passthrough';

type State =
  | { readonly kind: 'text' }
  /** After an escape character. */
  | { readonly kind: 'escape' }
  | { readonly kind: 'csi' }
  /** Inside a string that may be a query, and is held back. */
  | { readonly kind: 'string'; readonly of: StringKind }
  /** Inside a string that is left out. */
  | { readonly kind: 'query'; readonly of: QueryKind }
  /** Inside a string that is none. */
  | { readonly kind: 'passing' }
  /** After an escape character inside a string, which a backslash ends; any other byte breaks the string off. */
  | { readonly kind: 'stringEscape'; readonly of: StringKind | QueryKind };

const text: State = { kind: 'text' };

export class QueryFilter implements ByteFilter {
  #state: State = text;
  /** The beginning of a sequence that may be a query; empty outside of one. */
  #held: number[] = [];
  #kept: number[] = [];

  /** What can be shown. An unfinished sequence waits for its rest. */
  push(bytes: Uint8Array): Uint8Array {
    for (const byte of bytes) this.#read(byte);
    return this.#take();
  }

  /** What was held back, as it is: its rest will not come, or comes from somewhere else. */
  end(): Uint8Array {
    const state = this.#state;
    if (state.kind === 'stringEscape' && this.#held.length > 0) this.#held.push(escape);
    this.#release(text);
    return this.#take();
  }

  #read(byte: number): void {
    const state = this.#state;
    switch (state.kind) {
      case 'text':
        if (byte === escape) this.#hold(byte, { kind: 'escape' });
        else if (byte !== enq) this.#kept.push(byte);
        return;
      case 'passing':
        if (byte === escape) return this.#hold(byte, { kind: 'escape' });
        this.#kept.push(byte);
        if (endsString(byte)) this.#state = text;
        return;
      case 'escape':
        return this.#readEscape(byte);
      case 'csi':
        return this.#readCsi(byte);
      case 'string':
        return this.#readString(byte, state.of);
      case 'query':
        if (byte === escape) this.#state = { kind: 'stringEscape', of: state.of };
        else if (state.of === 'query' && endsString(byte)) this.#state = text;
        return;
      case 'stringEscape':
        if (byte === backslash) return this.#endString(state.of, [escape, backslash]);
        if (state.of === 'passthrough') {
          this.#state = { kind: 'query', of: state.of };
          return;
        }
        this.#release({ kind: 'escape' });
        this.#held.push(escape);
        return this.#read(byte);
    }
  }

  #readEscape(byte: number): void {
    if (byte === escape) {
      this.#release(text);
      return this.#read(byte);
    }
    this.#held.push(byte);
    if (byte === 0x5b) this.#state = { kind: 'csi' };
    else if (byte === 0x50 || byte === 0x5d || byte === 0x5f) this.#state = { kind: 'string', of: introducers[byte] };
    else if (byte === 0x5a) {
      this.#held = []; // DECID
      this.#state = text;
    } else this.#release(byte === 0x58 || byte === 0x5e ? { kind: 'passing' } : text); // SOS and PM are strings too
  }

  #readCsi(byte: number): void {
    if (byte === escape) {
      this.#release(text);
      return this.#read(byte);
    }
    this.#held.push(byte);
    if (byte >= 0x40 && byte <= 0x7e) {
      // Terminals obey control characters inside a sequence as if they stood before it.
      if (isCsiQuery(bodyOf(this.#held)))
        this.#held = this.#held.filter((held) => held < 0x20 && held !== escape && held !== enq);
      this.#release(text);
    } else if (byte === cancel || byte === substitute || byte > 0x7e || this.#held.length >= maxHeldBytes) this.#release(text);
  }

  #readString(byte: number, of: StringKind): void {
    if (byte === escape) {
      this.#state = { kind: 'stringEscape', of };
      return;
    }
    if (byte === cancel || byte === substitute) {
      this.#held.push(byte);
      return this.#release(text);
    }
    if (byte === bell) return this.#endString(of, [byte]);
    this.#held.push(byte);
    // A DCS shows by its first bytes what it is, the others by what stands before a semicolon.
    if (of === 'dcs' || byte === semicolon) this.#judge(of);
    if (this.#held.length >= maxHeldBytes) this.#release({ kind: 'passing' });
  }

  /** A string that has not ended yet. */
  #judge(of: StringKind): void {
    const verdict = verdictOn(of, bodyOf(this.#held.slice(0, judgedBytes)), 'begun');
    switch (verdict) {
      case 'query':
      case 'passthrough':
        this.#held = [];
        this.#state = { kind: 'query', of: verdict };
        return;
      case 'other':
        return this.#release({ kind: 'passing' });
      case 'open':
    }
  }

  #endString(of: StringKind | QueryKind, mark: readonly number[]): void {
    const isOther = of !== 'query' && of !== 'passthrough' && verdictOn(of, bodyOf(this.#held), 'whole') === 'other';
    this.#held = isOther ? [...this.#held, ...mark] : [];
    this.#release(text);
  }

  #hold(byte: number, state: State): void {
    this.#held = [byte];
    this.#state = state;
  }

  #release(state: State): void {
    this.#kept.push(...this.#held);
    this.#held = [];
    this.#state = state;
  }

  #take(): Uint8Array {
    const kept = Uint8Array.from(this.#kept);
    this.#kept = [];
    return kept;
  }
}

function endsString(byte: number): boolean {
  return byte === bell || byte === cancel || byte === substitute;
}

/** Without the introducer, which has two bytes. */
function bodyOf(held: readonly number[]): string {
  return String.fromCharCode(...held.slice(2));
}

/** Names and numbers are those of xterm's list of control sequences, and of kitty's documents. */
const csiQueries: readonly RegExp[] = [
  /^[>=]?[\d;]*c$/, // DA1, DA2, DA3
  /^\??[\d;]*n$/, // DSR
  /^\??[\d;]*\$p$/, // DECRQM
  /^>[\d;]*q$/, // XTVERSION
  /^\?[\d;]*[umS]$/, // kitty's keyboard, XTQMODKEYS, XTSMGRAPHICS
  /^(?:11|13|14|15|16|18|19|20|21)(?:;\d*)*t$/, // window reports
  /^[01]?x$/, // DECREQTPARM
  /^[\d;]*(?:\$[uw]|\*y|&u|'\||"v|#[S|R])$/, // reports of state, checksum, character set, locator, extent, titles, colours
  /^\?2048h$/, // switches reports of the size on, which begin with one
];

function isCsiQuery(body: string): boolean {
  const obeyed = body.replaceAll(/[^ -~]/g, '');
  return csiQueries.some((pattern) => pattern.test(obeyed));
}

/** OSC numbers that can ask. */
const askingOsc = /^(?:3|4|5|1\d|21|22|50|52|60|61|99|702|1337|5522)(?:;|$)/;

const oscQueries: readonly RegExp[] = [
  /^\d+;(?:.*;)?\?/s, // a question mark where a value would stand: colours, fonts, clipboard, pointer
  /^(?:21|99);(?:.*[;:])?[^;:=]*=\?/s, // kitty's colours and notifications
  /^6[01](?:;|$)/, // XTQALLOWED
  /^1337;(?:Report|Request|Capabilities)/, // iTerm2
  /^5522;type=read/, // kitty's clipboard
];

/** Left out whole: what is in it was meant for the terminal outside at that time. */
const tmuxPassthrough = 'tmux;';

function verdictOn(of: StringKind, body: string, extent: 'begun' | 'whole'): QueryKind | 'other' | 'open' {
  const undecided = extent === 'whole' ? 'other' : 'open';
  switch (of) {
    case 'osc':
      if (!askingOsc.test(body)) return 'other';
      return extent === 'whole' && oscQueries.some((pattern) => pattern.test(body)) ? 'query' : undecided;
    case 'dcs':
      if (body === tmuxPassthrough) return 'passthrough';
      if (/^[\d;]*(?:\$q|\+[qQ])/.test(body)) return 'query'; // DECRQSS, XTGETTCAP, XTGETXRES
      return /^[\d;]*[ -/]*$/.test(body) || tmuxPassthrough.startsWith(body) ? undecided : 'other';
    case 'apc':
      if (!body.startsWith('G')) return 'other';
      if (/^G(?:[^;]*,)?a=q(?:[,;]|$)/.test(body)) return 'query'; // kitty's graphics
      return body.includes(';') ? 'other' : undecided;
  }
}
