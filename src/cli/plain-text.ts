// Turns terminal output into plain text: no escape sequences, plain line ends. Works on bytes, so that a
// character or a sequence split over two chunks stays whole.

const esc = 0x1b;
const bell = 0x07;
const cr = 0x0d;
const lf = 0x0a;
const backslash = 0x5c;

/** Where in a sequence the last byte was: `string` is the text of a title or the like, up to its terminator. */
type State = 'text' | 'cr' | 'escape' | 'intermediate' | 'csi' | 'string' | 'stringEscape';

/** Adapts bytes to their destination. What it holds back of one piece is returned with the next one, or at the end. */
export interface ByteFilter {
  push(bytes: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

export class PlainText implements ByteFilter {
  #state: State = 'text';

  push(bytes: Uint8Array): Uint8Array {
    const kept: number[] = [];
    for (const byte of bytes) this.#read(byte, kept);
    return Uint8Array.from(kept);
  }

  /** Returns a carriage return that nothing followed. */
  end(): Uint8Array {
    const rest = this.#state === 'cr' ? Uint8Array.of(cr) : new Uint8Array();
    this.#state = 'text';
    return rest;
  }

  #read(byte: number, kept: number[]): void {
    switch (this.#state) {
      case 'cr':
        // Some programs, and nested terminals, write more than one before the line feed.
        if (byte === cr) return;
        this.#state = 'text';
        if (byte !== lf) kept.push(cr);
        return this.#read(byte, kept);
      case 'text':
        if (byte === cr) this.#state = 'cr';
        else if (byte === esc) this.#state = 'escape';
        else if (byte >= 0x20 || byte === lf || byte === 0x09) kept.push(byte);
        return;
      case 'escape':
        this.#state = afterEscape(byte);
        return;
      case 'intermediate':
        if (byte < 0x20 || byte > 0x2f) this.#state = 'text';
        return;
      case 'csi':
        if (byte >= 0x40 && byte <= 0x7e) this.#state = 'text';
        return;
      case 'string':
        if (byte === bell) this.#state = 'text';
        else if (byte === esc) this.#state = 'stringEscape';
        return;
      case 'stringEscape':
        this.#state = byte === backslash ? 'text' : afterEscape(byte);
    }
  }
}

function afterEscape(byte: number): State {
  if (byte === 0x5b) return 'csi';
  // OSC, DCS, SOS, PM, APC.
  if ([0x5d, 0x50, 0x58, 0x5e, 0x5f].includes(byte)) return 'string';
  if (byte === esc) return 'escape';
  return byte >= 0x20 && byte <= 0x2f ? 'intermediate' : 'text';
}

/**
 * The filter for past output on our stdout: plain text or, on a terminal, everything except queries, whose answers would be typed into
 * the user's shell. Undefined with `raw`.
 */
export async function filterFor({ raw }: { readonly raw: boolean }): Promise<(() => ByteFilter) | undefined> {
  if (raw) return undefined;
  if (!process.stdout.isTTY) return () => new PlainText();
  const { QueryFilter } = await import('./query-filter.js');
  return () => new QueryFilter();
}
