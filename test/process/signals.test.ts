// Signal names and numbers.

import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { parseSignal, signalExitCode, signalName } from '#src/process/end/signals.js';

test('a signal is recognised by its full or short name, in any case, and by the word that Codex uses', () => {
  assert.deepEqual(['SIGINT', 'INT', 'int', 'SigInt', 'interrupt', 'INTERRUPT'].map(parseSignal), Array(6).fill('SIGINT'));
});

test('other text is not recognised as a signal', () => {
  const texts = ['', 'SIG', '9', 'SIGNONE', 'SIGSIGINT', 'toString', '__proto__', ' INT'];
  assert.deepEqual(texts.map(parseSignal), Array(texts.length).fill(undefined));
});

test('every signal of the machine has a name that maps back to its number', () => {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  assert.deepEqual(
    Object.values(numbers).map((number) => numbers[signalName(number)]),
    Object.values(numbers),
  );
});

test('a number with several names gets the usual one', () => {
  assert.deepEqual([constants.signals.SIGABRT, constants.signals.SIGCHLD].map(signalName), ['SIGABRT', 'SIGCHLD']);
});

test('a death by signal has the exit code that shells report', () => {
  assert.deepEqual(['SIGHUP', 'SIGKILL', 'SIGTERM'].map(signalExitCode), [129, 137, 143]);
});

test('a real-time signal keeps its number through name and exit code', () => {
  assert.deepEqual([signalName(40), signalExitCode(signalName(40))], ['SIGRT40', 168]);
});
