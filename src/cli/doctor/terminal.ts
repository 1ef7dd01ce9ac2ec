// Checks terminals by running a command in one, and finds out what prevents opening one.

import { accessSync, constants } from 'node:fs';
import { connectInProcess } from '../../local/index.js';
import { type Finding, type ReadText, messageOf, readText } from './finding.js';
import { trial } from './trials.js';
import { endingText } from '../process-table.js';

const size = { rows: 37, cols: 111 };
const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);

/** Prints the size of its terminal, then turns off output processing so that bytes pass unchanged. */
const terminalScript = '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size && stty -opost && printf %b "$1"';

export async function terminal(): Promise<Finding> {
  const expected = Buffer.concat([Buffer.from(`${size.rows} ${size.cols}\r\n`), everyByte]);
  const octal = Array.from(everyByte, (byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('');
  try {
    await using client = connectInProcess();
    const argv = ['sh', '-c', terminalScript, 'sh', octal];
    const { stdout, ending } = await client.run(argv, { ...trial, io: { kind: 'pty', ...size } });
    if (expected.equals(stdout.bytes)) return terminalsLeft(readText);
    const written = JSON.stringify(stdout.text.slice(0, 80));
    return { state: 'broken', found: `a command in it did not end as expected (${endingText(ending)}) and wrote ${written}` };
  } catch (error) {
    return { state: 'broken', found: messageOf(error), ...terminalRemedy(readText) };
  }
}

/** With fewer than this left, a busy server runs into the limit. */
const fewTerminals = 64;

export function terminalsLeft(read: ReadText): Finding {
  const worked = `size ${size.cols}x${size.rows} and every byte as written`;
  const count = terminalCount(read);
  if (count === undefined) return { state: 'ok', found: worked };
  const found = `${worked}; ${count.used} of ${count.max} in use`;
  if (count.max - count.used >= fewTerminals) return { state: 'ok', found };
  return { state: 'warning', found, remedy: moreTerminals(count) };
}

interface TerminalCount {
  readonly used: number;
  readonly max: number;
  /** Part of `max` that containers cannot use. */
  readonly reserved: number;
}

function terminalCount(read: ReadText): TerminalCount | undefined {
  const count = (name: string) => Number(read(`/proc/sys/kernel/pty/${name}`) ?? Number.NaN);
  const counts = { used: count('nr'), max: count('max'), reserved: count('reserve') };
  return Object.values(counts).some(Number.isNaN) ? undefined : counts;
}

function moreTerminals({ max }: TerminalCount): string {
  return `as root: sysctl kernel.pty.max=${max * 2}`;
}

/** The remedy for what prevents every terminal on Linux; empty when the cause is something else. */
export function terminalRemedy(read: ReadText, isUsable = isReadWritable): { readonly remedy?: string } {
  const mounts = read('/proc/self/mountinfo')?.split('\n');
  if (mounts === undefined) return {};
  // Field 5 is the mount point; of several mounts at one point, the last is visible: proc(5).
  const mounted = mounts.filter((line) => line.split(' ')[4] === '/dev/pts').at(-1);
  if (mounted === undefined || !mounted.includes(' - devpts ')) {
    return {
      remedy: 'as root: mkdir -p /dev/pts && mount -t devpts -o ptmxmode=0666 devpts /dev/pts; a container needs its own /dev',
    };
  }
  if (!isUsable('/dev/ptmx')) return { remedy: 'as root: ln -sf pts/ptmx /dev/ptmx && chmod 666 /dev/pts/ptmx' };
  const count = terminalCount(read);
  return count !== undefined && count.used >= count.max - count.reserved ? { remedy: moreTerminals(count) } : {};
}

function isReadWritable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false; // missing or forbidden: the remedy is the same
  }
}
