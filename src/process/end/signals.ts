// Signal names and numbers, and the spellings that callers may use.

import { constants } from 'node:os';

const numbers: Readonly<Record<string, number>> = constants.signals;

/** Real-time signals have no name in Node's table and are called `SIGRT` and their number. */
export function signalName(number: number): string {
  return Object.keys(numbers).find((name) => numbers[name] === number) ?? `SIGRT${number}`;
}

/** Throws for a name that is not in the system's table. */
export function signalNumber(name: string): number {
  const number = numbers[name];
  if (number === undefined) throw new Error(`"${name}" is not a signal on this system`);
  return number;
}

/** The exit code that shells report for a process killed by this signal. */
export function signalExitCode(name: string): number {
  return 128 + (numbers[name] ?? Number(name.replace('SIGRT', '')));
}

/** SIGINT for "SIGINT", "INT", "int" and Codex's "interrupt"; undefined for an unknown signal. */
export function parseSignal(text: string): string | undefined {
  const upper = text.toUpperCase();
  const name = upper === 'INTERRUPT' ? 'SIGINT' : upper.startsWith('SIG') ? upper : `SIG${upper}`;
  return name in numbers ? name : undefined;
}
