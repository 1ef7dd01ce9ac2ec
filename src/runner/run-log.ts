// One append-only JSON-lines file per run: every event with its time and sequence number. Written as events happen, so a crash loses at
// most the line being written; a reader skips a torn last line.

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { LineSplitter } from '../client/line-splitter.js';
import type { AgentEvent } from './agent-event.js';
import type { AgentOptions } from './agent-options.js';
import { type RunWriter, isGone, thisWriter } from './run-writer.js';

/** The first line: what the run was asked to do. */
export interface RunHeader {
  readonly type: 'run';
  readonly runId: string;
  readonly adapter: string;
  readonly cwd: string;
  readonly resume?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly at: number;
  /** The process that wrote the log. Absent in logs of earlier versions. */
  readonly writer?: RunWriter;
}

export type LogLine = RunHeader | AgentEvent;

/** Generates the id of the run. */
export function runHeader({ adapter, cwd, resume, labels = {} }: AgentOptions, at: number): RunHeader {
  return {
    ...{ type: 'run', runId: runIdAt(at), adapter: adapter.name, cwd },
    ...(resume === undefined ? {} : { resume }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    at,
  };
}

/** Sorts by time. */
function runIdAt(at: number): string {
  return `${new Date(at).toISOString().replaceAll(/[:.]/g, '-')}-${crypto.randomUUID().slice(0, 8)}`;
}

export class RunLog {
  readonly path: string;
  readonly #descriptor: number;

  /** Creates the folder if it is missing. Only the owner can read it, because it contains the agents' prompts and answers. */
  constructor(folder: string, header: RunHeader) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.path = path.join(folder, `${header.runId}.jsonl`);
    this.#descriptor = openSync(this.path, 'ax', 0o600);
    this.append({ ...header, writer: thisWriter() });
  }

  /** Closes the file when writing fails: nothing can follow a torn line. */
  append(line: LogLine): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.#descriptor, bytes, at);
    } catch (error) {
      closeSync(this.#descriptor);
      throw error;
    }
  }

  /** Throws when the disk turns out to be full only now, on fsync; the file is closed anyway. */
  close(): void {
    try {
      fsyncSync(this.#descriptor);
    } finally {
      closeSync(this.#descriptor);
    }
  }
}

/** Names of the runs in a folder, oldest first; none when the folder does not exist yet. */
export function runsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => name.slice(0, -'.jsonl'.length))
    .toSorted();
}

export interface ReadRunOptions {
  /** Keep reading new lines until the run has ended or its writer is gone; in the latter case the last line is not `ended`. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** How often a follower checks for new lines. */
const lookMs = 100;
const readBytes = 64 * 1024;

/** The longest line kept while reading: the longest line of a program (64 MiB) with every byte escaped in JSON, plus its envelope. */
const maxLineBytes = 6 * 64 * 1024 * 1024 + 64 * 1024;

/** The lines of a run. Skips a line that cannot be parsed, such as a torn one. */
export async function* readRun(file: string, { follow = false, signal }: ReadRunOptions = {}): AsyncGenerator<LogLine> {
  await using handle = await open(file, 'r');
  const lines = new LogLines();
  const buffer = Buffer.alloc(readBytes);
  let isLastLook = !follow;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, readBytes);
    for (const line of lines.push(buffer.subarray(0, bytesRead))) {
      yield line;
      if (line.type === 'ended') return;
    }
    if (bytesRead > 0) continue;
    if (isLastLook || signal?.aborted === true) return;
    // The writer may have written more between our last read and its end.
    isLastLook = lines.writer !== undefined && isGone(lines.writer);
    if (!isLastLook) await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

/** Bytes of a log -> its lines. */
class LogLines {
  readonly #splitter = new LineSplitter(maxLineBytes);
  #isCut = false;
  /** From the header. */
  writer: RunWriter | undefined;

  *push(bytes: Uint8Array): Generator<LogLine> {
    for (const { text, ending } of this.#splitter.push(bytes)) {
      const line = this.#isCut || ending === 'cut' ? undefined : parseLine(text);
      this.#isCut = ending === 'cut';
      if (line?.type === 'run') this.writer = line.writer;
      if (line !== undefined) yield line;
    }
  }
}

function parseLine(text: string): LogLine | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isLogLine(parsed) ? parsed : undefined;
  } catch {
    return undefined; // torn by a crash
  }
}

function isLogLine(value: unknown): value is LogLine {
  return typeof value === 'object' && value !== null && 'type' in value && 'at' in value;
}
