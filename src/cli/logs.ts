// `sluice logs`: what a process wrote, as far as it is retained, and what it writes.

import type { ProcessHandle } from '../client/index.js';
import type { Chunk, ProcessStatus } from '../protocol/index.js';
import { type Flags, UsageError, defineCommand } from './command.js';
import { onSignals } from './inherited-signals.js';
import { gapLine } from './output-sink.js';
import { print } from './own-output.js';
import { type ByteFilter, filterFor } from './plain-text.js';
import { attachTo, findProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';

/** Asked for in one go; also what a follower may have to print before it hears of more. */
const pageBytes = 256 * 1024;

/** How long one question waits for something new. */
const pollMs = 10_000;

const options = {
  follow: { kind: 'switch', short: 'f', meaning: 'Go on with what it writes, until it ends.' },
  tail: { kind: 'number', short: 'n', placeholder: 'LINES', meaning: 'Begin with the last lines only.' },
  'since-seq': { kind: 'number', placeholder: 'SEQ', meaning: 'Begin after this sequence number.' },
  stream: { kind: 'choice', choices: ['stdout', 'stderr'], meaning: 'Only this one. A terminal’s output counts as stdout.' },
  raw: { kind: 'switch', meaning: 'Leave all escape sequences in, wherever the output goes.' },
  ...serverOptions,
} as const;

type LogFlags = Flags<typeof options>;

/** A piece of output, and what is missing before it. */
interface Piece extends Pick<Chunk, 'stream'> {
  readonly bytes: Uint8Array;
  readonly droppedBytes: number;
}

/** The last number printed, and the bytes up to it where they are known. */
interface Cursor {
  readonly afterSeq: number;
  readonly afterBytes?: number;
}

export const logs = defineCommand(
  {
    name: 'logs',
    usage: '[OPTIONS] NAME',
    about:
      'Prints what a process wrote, as far as it is retained, running or ended. Where something is missing, a line says how much. ' +
      'Escape sequences are left out unless the output is a terminal; there only those are that ask the terminal for an answer.',
    examples: [
      { line: 'sluice logs web', meaning: 'everything' },
      { line: 'sluice logs -f -n 20 web', meaning: 'the last 20 lines, then what comes' },
      { line: 'sluice logs --stream stderr web | grep -i error', meaning: 'search' },
    ],
    options,
    operands: 'processes',
  },
  async ({ flags, operands: [name, other] }) => {
    if (name === undefined || other !== undefined) throw new UsageError('logs needs one process, as in: sluice logs NAME');
    await using client = await requireServer(flags);
    const status = await findProcess(client, name);
    await using handle = await attachTo(client, status, { follow: false });
    using _signals = onSignals(['SIGINT', 'SIGTERM'], () => process.exit(0));
    await printLog(handle, status, flags);
    return 0;
  },
);

async function printLog(handle: ProcessHandle, status: ProcessStatus, flags: LogFlags): Promise<void> {
  const printer = new Printer(await filterFor(flags));
  const endSeq = status.nextSeq - 1;
  let cursor: Cursor = { afterSeq: flags['since-seq'] ?? 0 };
  if (flags.tail !== undefined) {
    const before = await collected(past(handle, { cursor, lastSeq: endSeq }, flags));
    for (const piece of lastLines(before.pieces, flags.tail)) await printer.print(piece);
    cursor = before.cursor;
  }
  const lastSeq = flags.follow ? Infinity : endSeq;
  for await (const piece of past(handle, { cursor, lastSeq }, flags)) await printer.print(piece);
  await printer.end();
}

/** What there is after the cursor, at least up to `lastSeq`; waits for more until then. Returns where it stopped. */
async function* past(
  handle: ProcessHandle,
  { cursor, lastSeq }: { readonly cursor: Cursor; readonly lastSeq: number },
  { stream: wanted }: LogFlags,
): AsyncGenerator<Piece, Cursor> {
  let at = cursor;
  let missingBytes = 0;
  while (at.afterSeq < lastSeq) {
    const page = await handle.read({ ...at, maxBytes: pageBytes, waitMs: lastSeq === Infinity ? pollMs : 0 });
    let missingAtEnd = page.droppedBytes;
    for (const { stream, chunk, droppedBytes = 0 } of page.chunks) {
      missingBytes += droppedBytes;
      missingAtEnd -= droppedBytes;
      if (wanted !== undefined && (wanted === 'stderr') !== (stream === 'stderr')) continue;
      yield { stream, bytes: chunk, droppedBytes: missingBytes };
      missingBytes = 0;
    }
    missingBytes += missingAtEnd;
    const isAtEnd = page.nextSeq - 1 === at.afterSeq;
    at = { afterSeq: page.nextSeq - 1, afterBytes: page.nextBytes };
    if (page.closed || (isAtEnd && lastSeq !== Infinity)) break;
  }
  if (missingBytes > 0) yield { stream: wanted ?? 'stdout', bytes: new Uint8Array(), droppedBytes: missingBytes };
  return at;
}

async function collected(reading: AsyncGenerator<Piece, Cursor>): Promise<{ pieces: Piece[]; cursor: Cursor }> {
  const pieces: Piece[] = [];
  for (;;) {
    const step = await reading.next();
    if (step.done === true) return { pieces, cursor: step.value };
    pieces.push(step.value);
  }
}

/** The pieces that the last lines are made of. A last line without its line feed counts too. */
function lastLines(pieces: readonly Piece[], lines: number): Piece[] {
  const kept: Piece[] = [];
  let missing = lines;
  if (missing > 0 && pieces.at(-1)?.bytes.at(-1) === lineFeed) missing += 1;
  for (const piece of pieces.toReversed()) {
    if (missing === 0) break;
    let at = piece.bytes.length;
    while (at > 0 && missing > 0) {
      at -= 1;
      if (piece.bytes[at] === lineFeed) missing -= 1;
    }
    const isWhole = missing > 0;
    kept.unshift(isWhole ? piece : { ...piece, bytes: piece.bytes.subarray(at + 1), droppedBytes: 0 });
  }
  return kept;
}

const lineFeed = 0x0a;

class Printer {
  readonly #createFilter: (() => ByteFilter) | undefined;
  readonly #filters = new Map<Piece['stream'], ByteFilter>();
  #isLineBegun = false;

  constructor(createFilter: (() => ByteFilter) | undefined) {
    this.#createFilter = createFilter;
  }

  async print({ stream, bytes, droppedBytes }: Piece): Promise<void> {
    if (droppedBytes > 0) await this.#write(Buffer.from(`${this.#isLineBegun ? '\n' : ''}${gapLine(droppedBytes)}`));
    const filter = this.#filters.get(stream) ?? this.#createFilter?.();
    if (filter === undefined) return this.#write(bytes);
    this.#filters.set(stream, filter);
    return this.#write(filter.push(bytes));
  }

  async end(): Promise<void> {
    for (const filter of this.#filters.values()) await this.#write(filter.end());
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    this.#isLineBegun = bytes.at(-1) !== lineFeed;
    await print(bytes);
  }
}
