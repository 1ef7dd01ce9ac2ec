// Sends a file, or a part of it, through a flow.

import { FileError, type OpenFile } from '../../files/index.js';
import type { Flow } from '../../rpc/flow.js';

/** Read at once: large enough that the disk is not the bottleneck, and small beside the window. */
const blockBytes = 256 * 1024;

export interface Range {
  readonly offset: number;
  /** Bytes to send at most. */
  readonly most: number;
  /** Bytes that the caller was promised; undefined for files such as those in /proc, whose size only reading tells. */
  readonly promised: number | undefined;
}

/** Closes the file. Resets the flow when the file turns out to be shorter than promised: a reader must not take it for the whole. */
export async function sendFile(file: OpenFile, flow: Flow, { offset, most, promised }: Range): Promise<void> {
  const end = offset + most;
  const readAt = async (at: number): Promise<Uint8Array> => file.readAt(at, Math.min(blockBytes, end - at));
  try {
    let at = offset;
    for (let block = at < end ? await readAt(at) : empty; block.length > 0;) {
      at += block.length;
      const next = at < end ? readAt(at) : Promise.resolve(empty); // while this block is sent
      next.catch(() => {}); // awaited below, unless sending fails first
      await flow.write(block);
      block = await next;
    }
    if (promised !== undefined && at < offset + promised)
      throw new FileError('failed', `"${file.shown}" became shorter while it was read`);
    flow.end();
  } catch (error) {
    flow.reset(error instanceof Error ? error.message : String(error));
  } finally {
    file.close();
  }
}

const empty = new Uint8Array(0);
