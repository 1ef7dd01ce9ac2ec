// `sluice logs`: prints the retained output of a process, and what it writes afterwards.

import type { Client, ProcessHandle } from '../client/index.js';
import type { Chunk, ProcessStatus } from '../protocol/index.js';
import { type Flags, UsageError, defineCommand } from './command.js';
import { onSignals } from './inherited-signals.js';
import { gapLine } from './output-sink.js';
import { print } from './own-output.js';
import { type ByteFilter, filterFor } from './plain-text.js';
import { attachTo, findProcess, requireServer } from './server-choice.js';
import { lossText, serverOptions } from './server-options.js';

/** Requested at a time. */
const pageBytes = 256 * 1024;

const options = {
  follow: { kind: 'switch', short: 'f', meaning: 'Keep printing what the process writes, until it ends.' },
  tail: {
    kind: 'number',
    short: 'n',
    placeholder: 'LINES',
    meaning: 'Start with the last LINES lines; -20 is the same as -n 20.',
    alone: /^\d+$/,
    otherNames: ['--lines'],
  },
  'since-seq': { kind: 'number', placeholder: 'SEQ', meaning: 'Start after this sequence number.' },
  stream: { kind: 'choice', choices: ['stdout', 'stderr'], meaning: 'Only this stream. A terminal’s output counts as stdout.' },
  raw: { kind: 'switch', meaning: 'Keep all escape sequences, wherever the output goes.' },
  ...serverOptions,
} as const;

type LogFlags = Flags<typeof options>;

/** A piece of output, and what is missing before it. */
interface Piece extends Pick<Chunk, 'stream'> {
  readonly bytes: Uint8Array;
  readonly droppedBytes: number;
}

/** The last sequence number printed, and the number of bytes up to it if known. */
interface Cursor {
  readonly afterSeq: number;
  readonly afterBytes?: number;
}

export const logs = defineCommand(
  {
    name: 'logs',
    usage: '[OPTIONS] NAME',
    about:
      'Prints the retained output of a process, running or ended. Where output is missing, a line says how much. Escape sequences are ' +
      'removed unless stdout is a terminal; there, only those that ask the terminal for an answer are removed.',
    examples: [
      { line: 'sluice logs web', meaning: 'everything' },
      { line: 'sluice logs -f -n 20 web', meaning: 'the last 20 lines, then new output' },
      { line: 'sluice logs --stream stderr web | grep -i error', meaning: 'search' },
    ],
    options,
    operands: 'processes',
  },
  async ({ flags, operands: [name, other] }) => {
    if (name === undefined || other !== undefined) throw new UsageError('logs needs one process, as in: sluice logs NAME');
    await using client = await requireServer(flags);
    const status = await findProcess(client, name);
    using _signals = onSignals(['SIGINT', 'SIGTERM'], () => process.exit(0));
    await printLog(client, status, flags);
    return 0;
  },
);

async function printLog(client: Client, status: ProcessStatus, flags: LogFlags): Promise<void> {
  const printer = new Printer(await filterFor(flags));
  let cursor: Cursor = { afterSeq: flags['since-seq'] ?? 0 };
  if (!flags.follow || flags.tail !== undefined) {
    await using handle = await attachTo(client, status, { follow: false });
    const reading = past(handle, { cursor, lastSeq: status.nextSeq - 1 }, flags);
    if (flags.tail === undefined) for await (const piece of reading) await printer.print(piece);
    else {
      const before = await collected(reading);
      for (const piece of lastLines(before.pieces, flags.tail)) await printer.print(piece);
      cursor = before.cursor;
    }
  }
  if (flags.follow) for await (const piece of present(client, status, { cursor, flags })) await printer.print(piece);
  await printer.end();
}

/** The output after the cursor, until the process has closed. */
async function* present(
  client: Client,
  status: ProcessStatus,
  { cursor, flags }: { readonly cursor: Cursor; readonly flags: LogFlags },
): AsyncGenerator<Piece> {
  const lastSeq = status.nextSeq - 1;
  await using handle = await attachTo(client, status, cursor.afterSeq <= lastSeq ? cursor : { afterSeq: lastSeq });
  let missingBytes = 0;
  for await (const { seq, stream, bytes, droppedBytes } of handle.output) {
    missingBytes += droppedBytes;
    if (seq <= cursor.afterSeq || !isWanted(stream, flags)) continue;
    yield { stream, bytes, droppedBytes: missingBytes };
    missingBytes = 0;
  }
  if (missingBytes > 0) yield { stream: flags.stream ?? 'stdout', bytes: new Uint8Array(), droppedBytes: missingBytes };
  if ((await handle.closed).reason === 'serverLost') throw new Error(await lossText(client));
}

/** The retained output after the cursor, up to `lastSeq`. Returns where it stopped. */
async function* past(
  handle: ProcessHandle,
  { cursor, lastSeq }: { readonly cursor: Cursor; readonly lastSeq: number },
  flags: LogFlags,
): AsyncGenerator<Piece, Cursor> {
  let at = cursor;
  let missingBytes = 0;
  while (at.afterSeq < lastSeq) {
    const page = await handle.read({ ...at, maxBytes: pageBytes });
    let missingAtEnd = page.droppedBytes;
    for (const { stream, chunk, droppedBytes = 0 } of page.chunks) {
      missingBytes += droppedBytes;
      missingAtEnd -= droppedBytes;
      if (!isWanted(stream, flags)) continue;
      yield { stream, bytes: chunk, droppedBytes: missingBytes };
      missingBytes = 0;
    }
    missingBytes += missingAtEnd;
    const isAtEnd = page.nextSeq - 1 === at.afterSeq;
    at = { afterSeq: page.nextSeq - 1, afterBytes: page.nextBytes };
    if (page.closed || isAtEnd) break;
  }
  if (missingBytes > 0) yield { stream: flags.stream ?? 'stdout', bytes: new Uint8Array(), droppedBytes: missingBytes };
  return at;
}

function isWanted(stream: Piece['stream'], { stream: wanted }: LogFlags): boolean {
  return wanted === undefined || (wanted === 'stderr') === (stream === 'stderr');
}

async function collected(reading: AsyncGenerator<Piece, Cursor>): Promise<{ pieces: Piece[]; cursor: Cursor }> {
  const pieces: Piece[] = [];
  for (;;) {
    const step = await reading.next();
    if (step.done === true) return { pieces, cursor: step.value };
    pieces.push(step.value);
  }
}

/** The pieces that make up the last lines. A last line without a line feed counts too. */
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
