// The prompts of a run: the first from the command line, a file or stdin; further ones from stdin, one per line.

import { createReadStream } from 'node:fs';
import { type Interface, createInterface } from 'node:readline';
import type { AgentRun } from '../../runner/index.js';
import { UsageError } from '../command.js';
import { releaseInput, openInput, untilEnd } from '../own-input.js';
import { StreamFailure, complain } from '../own-output.js';

export interface PromptChoice {
  /** The operands of the command line; a lone dash means stdin. */
  readonly words: readonly string[];
  readonly file: string | undefined;
  /** Lines of stdin, when further prompts come from there. */
  readonly lines: PromptLines | undefined;
}

/** Longest prompt that is read from a file or stdin, in bytes: more than any model accepts. */
const maxPromptBytes = 16 * 1024 * 1024;

/** Throws a UsageError when no prompt is given, or more than one. */
export async function firstPrompt({ words, file, lines }: PromptChoice): Promise<string> {
  const isDash = words.length === 1 && words[0] === '-';
  if (words.length > 0 && file !== undefined)
    throw new UsageError(`the prompt is either "${words.join(' ')}" or in --prompt-file ${file}, not both`);
  if (isDash || file === '-') {
    if (lines !== undefined)
      throw new UsageError(
        'stdin is either the first prompt or, with --prompts-from-stdin, one prompt per line; leave out the dash',
      );
    return nonEmpty(await promptFromStdin());
  }
  if (file !== undefined) return nonEmpty(await promptText(bytesOf(file), `--prompt-file ${file}`));
  return nonEmpty(words.length > 0 || lines === undefined ? words.join(' ') : ((await lines.next()) ?? ''));
}

async function promptFromStdin(): Promise<string> {
  if (process.stdin.isTTY) await complain('reading the prompt from this terminal; press Ctrl-D on an empty line to end it');
  try {
    return await promptText(untilEnd<Uint8Array>(openInput()), 'the prompt on stdin');
  } finally {
    releaseInput();
  }
}

async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file);
  } catch (error) {
    throw error instanceof Error ? new StreamFailure(`cannot read --prompt-file ${file}`, error) : error;
  }
}

/** Strips trailing line breaks. */
async function promptText(pieces: AsyncIterable<Uint8Array>, source: string): Promise<string> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    kept.push(piece);
    bytes += piece.length;
    if (bytes > maxPromptBytes) throw new UsageError(`${source} is longer than ${maxPromptBytes / 1024 / 1024} MiB`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(kept)).replace(/[\r\n]+$/, '');
  } catch (error) {
    throw new UsageError(`${source} is not UTF-8 text`, { cause: error });
  }
}

function nonEmpty(prompt: string): string {
  if (prompt.trim() !== '') return prompt;
  throw new UsageError('agent needs a prompt, as in: sluice agent run "fix the failing test"; a lone dash reads it from stdin');
}

/** The non-blank lines of our stdin, each a prompt. */
export class PromptLines implements Disposable {
  readonly #interface: Interface = createInterface(openInput());
  /** Created at once, because the interface does not keep lines for an iterator created later. */
  readonly #lines = untilEnd<string>(this.#interface[Symbol.asyncIterator]());

  /** Resolves to undefined at the end of stdin. Rejects when stdin cannot be read to its end. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const next = await this.#lines.next();
      if (next.done === true) return undefined;
      if (next.value.trim() !== '') return next.value;
    }
  }

  /** Sends each line when the previous turn has ended, until stdin or the run ends. */
  async sendTo(run: AgentRun): Promise<void> {
    void run.outcome.then(() => this.#interface.close()); // stop waiting for lines
    for (let prompt = await this.next(); prompt !== undefined && !run.isOver; prompt = await this.next())
      await run.send(prompt).result;
  }

  [Symbol.dispose](): void {
    this.#interface.close();
    releaseInput();
  }
}
