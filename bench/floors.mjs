// What the machine can do without a server: the lower bound for each line.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ownSession, searchPath } from './environment.mjs';
import { openWebSocket } from './websocket-wire.mjs';

/** @import { ChildProcess, ChildProcessWithoutNullStreams, StdioOptions } from 'node:child_process' */

const shell = '/bin/sh';
const env = { PATH: searchPath };

/**
 * A small shell that repeatedly forks, executes and waits: milliseconds per process.
 * @param {number} count
 */
export async function shellSpawnMs(count) {
  const startedAt = performance.now();
  const script = `i=0; while [ $i -lt ${count} ]; do /bin/true; i=$((i + 1)); done`;
  const [code] = await once(alone(shell, ['-c', script], 'ignore'), 'exit');
  if (code !== 0) throw new Error(`the shell ended with code ${code}`);
  return (performance.now() - startedAt) / count;
}

/**
 * Round trips to a WebSocket server that only echoes.
 * @param {{ bytes: number, count: number }} echo
 * @returns {Promise<number[]>} milliseconds
 */
export async function webSocketEchoMs({ bytes, count }) {
  const program = fileURLToPath(new URL('echo-server.mjs', import.meta.url));
  const child = alone(process.execPath, [program], ['ignore', 'pipe', 'inherit']);
  try {
    const [line] = await once(child.stdout, 'data');
    /** @type {(length: number) => void} */
    let answered = () => {};
    const wire = await openWebSocket(String(line).trim(), {
      reads: 'nudge',
      onText: (_bytes, start, end) => answered(end - start),
      onBinary: () => {},
      onEnd: () => {},
    });
    const payload = 'x'.repeat(bytes);
    /** @type {number[]} */
    const times = [];
    for (let turn = 0; turn < count; turn += 1) {
      const startedAt = performance.now();
      /** @type {Promise<number>} */
      const answer = new Promise((resolve) => (answered = resolve));
      wire.send(payload);
      const length = await answer;
      if (length !== bytes) throw new Error(`the echo of ${bytes} bytes has ${length}`);
      times.push(performance.now() - startedAt);
    }
    wire.close();
    return times;
  } finally {
    await ended(child);
  }
}

/**
 * Round trips through `cat` and two pipes of Node.
 * @param {{ bytes: number, count: number }} echo
 * @returns {Promise<number[]>} milliseconds
 */
export async function catEchoMs({ bytes, count }) {
  const child = alone('cat', [], ['pipe', 'pipe', 'inherit']);
  try {
    let missing = 0;
    let answered = () => {};
    child.stdout.on('data', (piece) => {
      missing -= piece.length;
      if (missing === 0) answered();
    });
    const payload = Buffer.alloc(bytes, 'x');
    /** @type {number[]} */
    const times = [];
    for (let turn = 0; turn < count; turn += 1) {
      const startedAt = performance.now();
      missing = bytes;
      /** @type {Promise<void>} */
      const answer = new Promise((resolve) => (answered = resolve));
      child.stdin.write(payload);
      await answer;
      times.push(performance.now() - startedAt);
    }
    return times;
  } finally {
    await ended(child);
  }
}

/**
 * `cat` into pipes that this program reads, `count` at a time: seconds until the last has ended.
 * @param {{ files: string[], total: number, count?: number }} flood
 */
export async function catFloodSeconds({ files, total, count = 1 }) {
  const startedAt = performance.now();
  const drain = async () => {
    const child = alone('cat', files, ['ignore', 'pipe', 'inherit']);
    let received = 0;
    child.stdout.on('data', (piece) => (received += piece.length));
    await once(child, 'close');
    if (received !== total) throw new Error(`cat wrote ${received} bytes instead of ${total}`);
  };
  await Promise.all(Array.from({ length: count }, drain));
  return (performance.now() - startedAt) / 1000;
}

/**
 * Shells that print lines to /dev/null, `count` at a time: seconds until the last has ended.
 * @param {{ script: string, count: number }} shells
 */
export async function shellLinesSeconds({ script, count }) {
  const children = Array.from({ length: count }, () => alone(shell, ['-c', `read go; ${script}`], ['pipe', 'ignore', 'ignore']));
  await Promise.all(children.map((child) => once(child, 'spawn')));
  const startedAt = performance.now();
  for (const child of children) child.stdin.end('go\n');
  await Promise.all(children.map((child) => once(child, 'exit')));
  return (performance.now() - startedAt) / 1000;
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {StdioOptions} stdio only streams that are pipes may be used
 */
function alone(program, args, stdio) {
  const child = spawn(program, args, { env, stdio, ...ownSession });
  return /** @type {ChildProcessWithoutNullStreams} */ (child);
}

/** @param {ChildProcess} child */
async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
