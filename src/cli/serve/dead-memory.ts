// Has forgotten output and requests collected while the server is idle. V8 starts a collection when more is allocated, which an idle server
// does not do: what a storm left would stay for good.

import { MessageChannel } from 'node:worker_threads';

const mib = 1024 * 1024;

/** How often the server looks. What it finds is gone well within a minute, and a look every few seconds costs nothing. */
const lookMs = 5_000;

/** Memory in buffers that nothing needs, from which a collection is worthwhile, in bytes: several times what a quiet server has. */
const deadBufferBytes = 8 * mib;

/** Growth of the heap from which a collection is worthwhile, in bytes: more than the space for new objects, which V8 empties by itself. */
const heapGrowthBytes = 16 * mib;

/** Least collections for one finding. V8 shrinks the space for new objects only in a collection before which the program was idle: 8 to 14 MB. */
const collectionRounds = 2;

/** Memory that came back with a collection, from which another one is worthwhile, in bytes: the first ones may have come while work went on. */
const gainBytes = mib;

/** V8 starts to mark when buffers have grown by 64 MiB since its last collection. In bytes; a little more, for what was freed since. */
const pressureBytes = 72 * mib;

/**
 * Memory that is neither V8's nor in buffers, up to which malloc is asked for its free pages, in bytes. Node itself has some 50 MB; asking
 * takes the longer the more malloc holds, and stops the program meanwhile.
 */
const askedBytes = 96 * mib;

export interface DeadMemoryOptions {
  /** Those in buffers that are still needed. */
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
      heapFloor = Infinity; // what is in use at the next look is what a collection leaves
    } else if (hasCollected && rss - heapTotal - arrayBuffers <= askedBytes) {
      returnFreePages();
    }
  };
  setInterval(look, lookMs).unref();
}

/** Node reads a file for it. Without a descriptor nothing is known, and the next look makes up for it. */
function memoryInUse(): Pick<NodeJS.MemoryUsage, 'arrayBuffers' | 'heapTotal' | 'heapUsed' | 'rss'> {
  try {
    return process.memoryUsage();
  } catch {
    return { arrayBuffers: 0, heapTotal: 0, heapUsed: 0, rss: Infinity };
  }
}

/**
 * Marks in small steps beside other work, where `gc()` would stop the program for as long as it takes. A large buffer makes V8 start; no
 * byte of it is touched, so it costs no memory, and sending it to a closed port frees it at once.
 */
function startCollection(): void {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  try {
    const pressure = new ArrayBuffer(pressureBytes);
    port1.postMessage(undefined, [pressure]);
  } catch (error) {
    // Not even address space is left: V8 has reason enough to collect.
    if (!(error instanceof RangeError)) throw error;
  } finally {
    port1.close();
  }
}
