// Removes from old output the sequences that ask the terminal for an answer: cursor position, colours, modes, names. The answers would
// arrive as typed keys, long after the program that asked is gone. Everything else passes byte for byte. Works on bytes, and on sequences
// that are split over chunks. Knows only the seven-bit forms: under UTF-8 the eight-bit ones are parts of characters.

import type { ByteFilter } from './plain-text.js';

/**
 * Longest sequence that is held back until its end shows what it is, in bytes. Queries have a few dozen; a longer sequence, such as
 * clipboard content, is not a query and passes.
 */
export const maxHeldBytes = 4096;

/** How many bytes of an unfinished string are examined, each time one is added: its first few show what it is. */
const judgedBytes = 256;

const enq = 0x05;
const bell = 0x07;
const cancel = 0x18;
const substitute = 0x1a;
const escape = 0x1b;
const semicolon = 0x3b;
const backslash = 0x5c;

/** The strings that may be queries, by the byte after the escape character. */
const introducers = { 0x50: 'dcs', 0x5d: 'osc', 0x5f: 'apc' } as const;

type StringKind = (typeof introducers)[keyof typeof introducers];

/** `passthrough` is what tmux passes to the terminal outside: every escape character inside it is doubled. */
type QueryKind = 'query' | 'passthrough';

type State =
  | { readonly kind: 'text' }
  /** After an escape character. */
  | { readonly kind: 'escape' }
  | { readonly kind: 'csi' }
  /** Inside a string that may be a query, and is held back. */
  | { readonly kind: 'string'; readonly of: StringKind }
  /** Inside a query, which is removed. */
  | { readonly kind: 'query'; readonly of: QueryKind }
  /** Inside a string that is not a query. */
  | { readonly kind: 'passing' }
  /** After an escape character inside a string: a backslash ends the string, any other byte aborts it. */
  | { readonly kind: 'stringEscape'; readonly of: StringKind | QueryKind };

const text: State = { kind: 'text' };

export class QueryFilter implements ByteFilter {
  #state: State = text;
  /** The beginning of a sequence that may be a query; empty outside of one. */
  #held: number[] = [];
  #kept: number[] = [];

  /** Returns what can be shown. An unfinished sequence is held back until the rest of it arrives. */
  push(bytes: Uint8Array): Uint8Array {
    for (const byte of bytes) this.#read(byte);
    return this.#take();
  }

  /** Returns what was held back, unchanged: the rest of it will not be pushed. */
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
      // Terminals obey control characters inside a sequence as if they came before it.
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
    // A DCS is identified by its first bytes, the others by what precedes a semicolon.
    if (of === 'dcs' || byte === semicolon) this.#judge(of);
    if (this.#held.length >= maxHeldBytes) this.#release({ kind: 'passing' });
  }

  /** Classifies a string that has not ended yet. */
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

/** The sequence without its introducer, which has two bytes. */
function bodyOf(held: readonly number[]): string {
  return String.fromCharCode(...held.slice(2));
}

/** Names and numbers are from xterm's list of control sequences and from kitty's documentation. */
const csiQueries: readonly RegExp[] = [
  /^[>=]?[\d;]*c$/, // DA1, DA2, DA3
  /^\??[\d;]*n$/, // DSR
  /^\??[\d;]*\$p$/, // DECRQM
  /^>[\d;]*q$/, // XTVERSION
  /^\?[\d;]*[umS]$/, // kitty's keyboard, XTQMODKEYS, XTSMGRAPHICS
  /^(?:11|13|14|15|16|18|19|20|21)(?:;\d*)*t$/, // window reports
  /^[01]?x$/, // DECREQTPARM
  /^[\d;]*(?:\$[uw]|\*y|&u|'\||"v|#[S|R])$/, // reports of state, checksum, character set, locator, extent, titles, colours
  /^\?2048h$/, // turns on size reports, the first of which is sent at once
];

function isCsiQuery(body: string): boolean {
  const obeyed = body.replaceAll(/[^ -~]/g, '');
  return csiQueries.some((pattern) => pattern.test(obeyed));
}

/** OSC numbers that can be queries. */
const askingOsc = /^(?:3|4|5|1\d|21|22|50|52|60|61|99|702|1337|5522)(?:;|$)/;

const oscQueries: readonly RegExp[] = [
  /^\d+;(?:.*;)?\?/s, // a question mark in place of a value: colours, fonts, clipboard, pointer
  /^(?:21|99);(?:.*[;:])?[^;:=]*=\?/s, // kitty's colours and notifications
  /^6[01](?:;|$)/, // XTQALLOWED
  /^1337;(?:Report|Request|Capabilities)/, // iTerm2
  /^5522;type=read/, // kitty's clipboard
];

/** Removed entirely: its content was meant for the terminal outside at that time. */
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
