// Makes glibc's malloc return large blocks to the kernel as soon as they are freed. By default it raises its mmap threshold to the largest
// block ever freed, and then keeps all smaller blocks in a heap that shrinks only at its top: 300 MB after one burst of output.

import type { Libc } from './libc.js';

const M_MMAP_THRESHOLD = -3;
const M_MMAP_MAX = -4;

/** Smallest block with its own mapping: most output under load is in chunks of 16 to 64 KiB. At 2 to 3 µs, mapping less is not worth it. */
const mappedBlockBytes = 16 * 1024;

/** Most blocks with their own mapping: half of the mappings that the kernel allows a program. Further blocks come from the heap. */
const mostMappedBlocks = 32_768;

/** Affects the whole program, so it is only for Sluice's own. Does nothing on musl, which lacks mallopt and returns large blocks anyway. */
export function returnLargeBlocks({ mallopt }: Libc): void {
  mallopt?.(M_MMAP_THRESHOLD, mappedBlockBytes);
  mallopt?.(M_MMAP_MAX, mostMappedBlocks);
}
