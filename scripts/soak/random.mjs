// Choices that a seed decides: the same seed makes the same ones again.

/** @param {number} seed any whole number */
export function seededRandom(seed) {
  let state = seed >>> 0;
  /** From 0 to 1, without 1: mulberry32. */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (least, most) => least + Math.floor(next() * (most - least + 1));
  return {
    /** A whole number between these two, both included. */
    whole,
    /** Many small ones and few large ones, up to `most`. */
    size: (most) => Math.floor(most ** next()),
    one: (list) => list[whole(0, list.length - 1)],
    bytes(length) {
      const bytes = Buffer.alloc(length);
      for (let at = 0; at < length; at += 1) bytes[at] = whole(0, 255);
      return bytes;
    },
  };
}
