// What every way of writing a file piece by piece has in common.

import { type Stats, fsync } from 'node:fs';
import { promisify } from 'node:util';
import { type FileError, refused, systemError } from './file-error.js';
import { type Metadata, metadataOf } from './metadata.js';

/** Ends with `commit` or `abort`, or when a call fails; that releases everything. Calls take effect one after the other. */
export interface FileWriter {
  write(chunk: Uint8Array): Promise<void>;
  commit(): Promise<WrittenFile>;
  /** Does nothing after the end. */
  abort(): Promise<void>;
}

export interface WrittenFile {
  /**
   * - `renamed`: the new file took the place of the old one in one step.
   * - `created`: there was none.
   * - `inPlace`: the contents were overwritten; a kill meanwhile would have left the file torn. Its inode and its hard links stayed.
   * - `appended`
   */
  readonly how: 'renamed' | 'created' | 'inPlace' | 'appended';
  readonly metadata: Metadata;
}

export interface WriteOptions {
  /** Permission bits. Otherwise a new file has 0666 less the umask, and an old one keeps its own. */
  readonly mode?: number | undefined;
  /** What the file must still be; nothing is written otherwise. */
  readonly expected?: ExpectedFile | undefined;
  /**
   * `fsync`: the contents are on the disk when `commit` resolves. Otherwise, as with most tools, they survive the end of this program, but
   * perhaps not a power failure.
   */
  readonly durability?: 'none' | 'fsync' | undefined;
}

export type ExpectedFile = 'absent' | Pick<Metadata, 'size' | 'modifiedAtMs' | 'inode' | 'device'>;

export const syncFile: (fd: number) => Promise<void> = promisify(fsync);

/** Throws unless this is a file, or nothing, and what was expected. */
export function judge(
  found: Stats | undefined,
  { expected, shown }: { expected: ExpectedFile | undefined; shown: string },
): void {
  if (found?.isDirectory() === true) throw systemError('EISDIR', shown);
  if (found?.isFile() === false) throw refused(`path \`${shown}\` is not a file`);
  if (expected === undefined) return;
  if (expected === 'absent') {
    if (found !== undefined) throw systemError('EEXIST', shown);
    return;
  }
  if (found === undefined) throw changed(shown, 'it was removed');
  const now = metadataOf(found);
  if (now.inode !== expected.inode || now.device !== expected.device) throw changed(shown, 'it was replaced by another file');
  if (now.size !== expected.size) throw changed(shown, `it had ${expected.size} bytes and has ${now.size}`);
  if (now.modifiedAtMs !== expected.modifiedAtMs) throw changed(shown, 'it was written to');
}

function changed(shown: string, how: string): FileError {
  return refused(`"${shown}" has changed meanwhile: ${how}`);
}

/** Runs the calls of a writer one after the other; none after the end. */
export class WriterTurns {
  readonly #release: () => void;
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;

  /** `release` is called once, at the end. */
  constructor(release: () => void) {
    this.#release = release;
  }

  /** Ends the writer if `act` fails, or if it was the last. */
  async take<T>(kind: 'one' | 'last', act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => this.#run(kind, act));
    this.#last = turn.catch(() => {}); // the caller has the error
    return turn;
  }

  async #run<T>(kind: 'one' | 'last', act: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw refused('the file is no longer open for writing');
    let isOver = true;
    try {
      const result = await act();
      isOver = kind === 'last';
      return result;
    } finally {
      if (isOver) this.#end();
    }
  }

  /** Waits for a call that is under way. */
  async end(): Promise<void> {
    const turn = this.#last.then(() => this.#end());
    this.#last = turn;
    await turn;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release();
  }
}
