// Makes V8 collect forgotten output and requests while the server is idle. V8 starts a collection only when more is allocated, which an
// idle server does not do, so the garbage of a burst would stay forever.

import { MessageChannel } from 'node:worker_threads';

const mib = 1024 * 1024;

/** How often the server checks. Garbage is gone well within a minute, and a check every few seconds costs nothing. */
const lookMs = 5_000;

/** Memory in unused buffers that makes a collection worthwhile, in bytes: several times what a quiet server has. */
const deadBufferBytes = 8 * mib;

/** Heap growth that makes a collection worthwhile, in bytes: more than the space for new objects, which V8 empties unprompted. */
const heapGrowthBytes = 16 * mib;

/** Fewest collections in a row. V8 shrinks the space for new objects, by 8 to 14 MB, only in a collection that follows an idle period. */
const collectionRounds = 2;

/** Memory freed by a collection that makes another one worthwhile, in bytes: the first ones may have run while work was in progress. */
const gainBytes = mib;

/** V8 starts to mark when buffers have grown by 64 MiB since its last collection. In bytes, with a margin for what was freed since. */
const pressureBytes = 72 * mib;

/**
 * Most memory outside V8 and buffers at which malloc is still asked to return its free pages, in bytes. Node itself has some 50 MB; the
 * request takes longer the more malloc holds, and blocks the program.
 */
const askedBytes = 96 * mib;

export interface DeadMemoryOptions {
  /** Bytes in buffers that are still needed. */
  readonly liveBytes: () => number;
  /** Called when everything is collected. */
  readonly returnFreePages: () => void;
}

export function collectDeadMemory({ liveBytes, returnFreePages }: DeadMemoryOptions): void {
  let heapFloor = Infinity;
  let roundsLeft = 0;
  let rssAtCollection = 0;
  const look = () => {
    const { arrayBuffers, heapTotal, heapUsed, rss } = memoryInUse();
    if (heapUsed > 0) heapFloor = Math.min(heapFloor, heapUsed);
    const isWorthwhile = arrayBuffers - liveBytes() >= deadBufferBytes || heapUsed - heapFloor >= heapGrowthBytes;
    const hasCollected = rssAtCollection > 0;
    if (isWorthwhile) roundsLeft = collectionRounds;
    else if (roundsLeft === 0 && rssAtCollection - rss >= gainBytes) roundsLeft = 1;
    rssAtCollection = 0;
    if (roundsLeft > 0) {
      startCollection();
      rssAtCollection = rss;
      roundsLeft -= 1;
      heapFloor = Infinity; // the next check sees what the collection left in use
    } else if (hasCollected && rss - heapTotal - arrayBuffers <= askedBytes) {
      returnFreePages();
    }
  };
  setInterval(look, lookMs).unref();
}

/** Node reads a file for this. Without a free descriptor nothing is known, and the next check makes up for it. */
function memoryInUse(): Pick<NodeJS.MemoryUsage, 'arrayBuffers' | 'heapTotal' | 'heapUsed' | 'rss'> {
  try {
    return process.memoryUsage();
  } catch {
    return { arrayBuffers: 0, heapTotal: 0, heapUsed: 0, rss: Infinity };
  }
}

/**
 * Marks in small steps alongside other work, where `gc()` would block the program until it is done. A large buffer makes V8 start; no
 * byte of it is touched, so it costs no memory, and sending it to a closed port frees it at once.
 */
function startCollection(): void {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  try {
    const pressure = new ArrayBuffer(pressureBytes);
    port1.postMessage(undefined, [pressure]);
  } catch (error) {
    // Not even address space is left, so V8 has reason enough to collect.
    if (!(error instanceof RangeError)) throw error;
  } finally {
    port1.close();
  }
}
