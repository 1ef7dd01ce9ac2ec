// Helpers shared by the measuring scripts: options, Markdown tables, quantiles, parallel tasks. Knows nothing about what is measured.

/** @import { OutputChunk, ProcessHandle } from '../dist/index.js' */
/** @import { BackendName } from '../dist/server/index.js' */

/**
 * @param {string} name of the option, for the error message
 * @param {string} text
 */
export function wholeNumber(name, text) {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`--${name} must be a whole number above 0, got "${text}"`);
  return number;
}

/**
 * The backends an option names: one of them, or all that this platform supports.
 * @param {string} choice
 * @returns {BackendName[]}
 */
export function backendsOf(choice) {
  if (choice === 'all') return process.platform === 'linux' ? ['linux', 'portable'] : ['portable'];
  if (choice !== 'linux' && choice !== 'portable') throw new Error(`--backend must be linux, portable or all, got "${choice}"`);
  return [choice];
}

/** The two kinds of io that a process can have. */
export const ios = /** @type {const} */ ({
  pipe: { kind: 'pipe', stdin: 'closed' },
  pty: { kind: 'pty', rows: 24, cols: 80 },
});

/** Everything the programs started here need. */
export const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' };

/**
 * Reads a process's output as it arrives, to its end.
 * @param {ProcessHandle} child
 */
export async function chunksOf(child) {
  /** @type {OutputChunk[]} */
  const chunks = [];
  for await (const chunk of child.output) chunks.push(chunk);
  return chunks;
}

/**
 * Calls `task` with 0 to `count` - 1, with at most `width` calls at a time.
 * @param {{ count: number, width: number }} extent
 * @param {(index: number) => Promise<unknown>} task
 */
export async function inParallel({ count, width }, task) {
  let next = 0;
  const worker = async () => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/**
 * @param {number[]} values at least one
 * @param {number} fraction
 */
export function quantile(values, fraction) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];
}

/** @param {number[]} values at least one */
export function median(values) {
  return quantile(values, 0.5);
}

/**
 * The first two lines of a Markdown table.
 * @param {string[]} names
 */
export function tableHead(...names) {
  return `${tableRow(...names)}\n${tableRow(...names.map(() => '---'))}`;
}

/** @param {(string | number | undefined)[]} cells */
export function tableRow(...cells) {
  return `| ${cells.join(' | ')} |`;
}

/** @param {number} bytes */
export function megabytes(bytes) {
  return (bytes / 1_000_000).toFixed(1);
}
