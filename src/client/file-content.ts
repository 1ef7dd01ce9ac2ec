// The content of one file as it arrives. Never silently short: it has as many bytes as the server announced, or it rejects.

import { joinBytes } from '../base/join-bytes.js';
import { type FileStatus, type Result, execError } from '../protocol/index.js';
import type { Flow } from '../rpc/flow.js';
import type { ExecLink } from './exec-link.js';
import { flowFailure } from './file-flow.js';

/** Longest content that is read into memory at once: about the longest string. */
const wholeReadBytes = 512 * 1024 * 1024;

interface Reading {
  readonly link: ExecLink;
  readonly flow: Flow;
  readonly path: string;
  readonly reply: Result<'files/read'>;
}

/** To be read once, or disposed: until then the server keeps the file open. */
export class FileContent implements AsyncIterable<Uint8Array>, AsyncDisposable {
  /** The file when it was opened. */
  readonly status: FileStatus;
  /** How many bytes there are; undefined if only reading tells, as in /proc. */
  readonly length: number | undefined;
  readonly #reading: Reading;

  constructor(reading: Reading) {
    this.status = reading.reply.status;
    this.length = reading.reply.length;
    this.#reading = reading;
  }

  /** Leaving the loop ends the transfer. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const { link, flow, path } = this.#reading;
    let bytes = 0;
    try {
      for (let chunk = await flow.read(); chunk !== undefined; chunk = await flow.read()) {
        bytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw await flowFailure(link, error);
    } finally {
      flow.reset('the client has stopped reading');
    }
    if (this.length === undefined || bytes === this.length) return;
    throw execError('fileFailed', { problem: `${path} was to have ${this.length} bytes, but ${bytes} have arrived` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reading.flow.reset('the client has stopped reading');
  }
}

export interface RangeOptions {
  /** First byte; 0 when absent. */
  readonly offset?: number;
  /** Bytes; to the end when absent. */
  readonly length?: number;
}

/** Resolves when the file is open. */
export async function openContent(link: ExecLink, path: string, range: RangeOptions = {}): Promise<FileContent> {
  const flow = link.openFlow();
  try {
    const reading = link.service['files/read']({ flowId: flow.id, path, ...range });
    flow.end();
    return new FileContent({ link, flow, path, reply: await reading });
  } catch (error) {
    flow.reset('the client has stopped reading');
    throw error;
  }
}

/** All of it. Rejects if it is longer than fits in memory. */
export async function wholeOf(content: FileContent): Promise<Uint8Array> {
  const { path } = content.status;
  requireShort(path, content.length ?? 0);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    requireShort(path, bytes);
    chunks.push(chunk);
  }
  return joinBytes(chunks);
}

function requireShort(path: string, bytes: number): void {
  if (bytes <= wholeReadBytes) return;
  const problem = `${path} has ${bytes} bytes or more, and at most ${wholeReadBytes} are read at once; read a range of it, or use readStream`;
  throw execError('fileRefused', { problem });
}
