// Signal names and numbers, and what a caller may call them.

import { constants } from 'node:os';

const numbers: Readonly<Record<string, number>> = constants.signals;

/** Real-time signals have no name of their own. */
export function signalName(number: number): string {
  return Object.keys(numbers).find((name) => numbers[name] === number) ?? `SIGRT${number}`;
}

/** Of a signal with a name. */
export function signalNumber(name: string): number {
  const number = numbers[name];
  if (number === undefined) throw new Error(`"${name}" is no signal of this system`);
  return number;
}

/** The exit code shells give to a death by signal. */
export function signalExitCode(name: string): number {
  return 128 + (numbers[name] ?? Number(name.replace('SIGRT', '')));
}

/** SIGINT for "SIGINT", "INT", "int" and Codex's "interrupt"; undefined for what is no signal. */
export function parseSignal(text: string): string | undefined {
  const upper = text.toUpperCase();
  const name = upper === 'INTERRUPT' ? 'SIGINT' : upper.startsWith('SIG') ? upper : `SIG${upper}`;
  return name in numbers ? name : undefined;
}
