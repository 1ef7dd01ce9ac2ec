// Parses a decimal number directly from bytes, without creating a string.

const zero = 0x30;
const nine = 0x39;

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @returns {{value: number, end: number}} the number, and where its digits end
 */
export function numberAt(bytes, start) {
  let value = 0;
  let end = start;
  for (; bytes[end] >= zero && bytes[end] <= nine; end += 1) value = value * 10 + bytes[end] - zero;
  return { value, end };
}
