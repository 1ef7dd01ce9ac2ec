// What `sluice ps` shows about a process: how it ended, how long it ran, how much it wrote.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processTable } from '#src/cli/process-table.js';
import { type Ending, type ProcessStatus, asProcessId } from '#src/protocol/index.js';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

function row(status: Partial<ProcessStatus>): string[] {
  const whole = { processId: 'p', pid: 7, argv: ['true'], startedAt: 0, outputBytes: 0, ...status } as ProcessStatus;
  const [, line = ''] = processTable([whole], { now: 0, isColoured: false }).split('\n');
  return line.split(/ {2,}/);
}

function ended(ending: Partial<Ending>): string | undefined {
  return row({ ending: { startedAt: 0, endedAt: 0, reason: 'exited', ...ending } as Ending })[1];
}

test('an age shows its two largest units', () => {
  const ages = [59 * second, 61 * second, hour + 2 * minute, day + 3 * hour + minute].map((age) => row({ startedAt: -age })[3]);
  assert.deepEqual(ages, ['59s', '1m1s', '1h2m', '1d3h']);
});

test('an ending is a code, a signal, a timeout, or lost', () => {
  assert.deepEqual(
    [
      ended({ kind: 'code', code: 3 }),
      ended({ kind: 'signal', signal: 'SIGTERM' }),
      ended({ kind: 'signal', signal: 'SIGTERM', reason: 'idleTimedOut' }),
      ended({ kind: 'lost', reason: 'serverLost' }),
    ],
    ['exited 3', 'SIGTERM', 'timed out', 'lost'],
  );
});

test('lines are cut to the width of the terminal, with wide characters counted as two columns', () => {
  const statuses = [
    { processId: 'p', pid: 7, argv: ['echo', 'x'.repeat(90)], startedAt: 0, outputBytes: 0, state: 'running' },
    { processId: '日本', pid: 8, argv: ['echo', '日'.repeat(40)], startedAt: 0, outputBytes: 0, state: 'running' },
  ] as ProcessStatus[];
  const lines = processTable(statuses, { now: 0, isColoured: false, columns: 50 }).split('\n');
  assert.deepEqual(lines, [
    'NAME  STATE    PID  AGE  OUTPUT  COMMAND',
    'p     running  7    0s   0B      echo xxxxxxxxxxx…',
    "日本  running  8    0s   0B      echo '日日日日日…",
    '',
  ]);
  const coloured = processTable(statuses, { now: 0, isColoured: true, columns: 10 }).split('\n')[1];
  assert.equal(coloured, 'p     \x1b[32mrun…\x1b[39m');
  assert.equal(processTable(statuses, { now: 0, isColoured: true, columns: 4 }).split('\n')[1], 'p  …');
});

test('control characters in a name are escaped', () => {
  assert.equal(
    row({ processId: asProcessId('\u001b]52;c;eA==\u0007\u009b2J\nx') })[0],
    String.raw`\x1b]52;c;eA==\x07\x9b2J\x0ax`,
  );
});

test('a word with control characters is escaped and quoted', () => {
  assert.equal(row({ argv: ['echo', 'a b', '\u001b[2J'] }).at(-1), String.raw`echo 'a b' '\x1b[2J'`);
});
