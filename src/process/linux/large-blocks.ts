// Tells glibc's malloc to give large blocks back to the kernel as soon as they are freed. By default it raises its own threshold to the largest
// block ever freed, and from then on keeps the pages of all smaller ones in a heap that shrinks only at its top: 300 MB after one storm of output.

import type { Libc } from './libc.js';

const M_MMAP_THRESHOLD = -3;
const M_MMAP_MAX = -4;

/** Bytes from which a block is mapped by itself: most output under load comes in chunks of 16 to 64 KiB. A mapping costs 2 to 3 µs, too much for less. */
const mappedBlockBytes = 16 * 1024;

/** Blocks mapped by themselves at most: half of the mappings that the kernel allows a program. Beyond it, the heap serves. */
const mostMappedBlocks = 32_768;

/** For the whole program, so only for one that is ours. Does nothing on musl, which has no such function and returns large blocks anyway. */
export function returnLargeBlocks({ mallopt }: Libc): void {
  mallopt?.(M_MMAP_THRESHOLD, mappedBlockBytes);
  mallopt?.(M_MMAP_MAX, mostMappedBlocks);
}
