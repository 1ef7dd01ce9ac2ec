// Rows in columns, and what goes into them.

import type { Ending, ProcessStatus } from '../protocol/index.js';
import { paint } from './colour.js';
import { qualifiedName } from './server-choice.js';
import { quoted } from './shell-words.js';
import { visible } from './visible-text.js';

export function processTable(
  processes: readonly ProcessStatus[],
  { now, isColoured }: { now: number; isColoured: boolean },
): string {
  const names = processes.map(({ processId }) => processId);
  const rows = processes.map((each) => [
    visible(names.filter((name) => name === each.processId).length > 1 ? qualifiedName(each) : each.processId),
    visible(stateOf(each)),
    String(each.pid),
    ageOf((each.ending?.endedAt ?? now) - each.startedAt),
    sizeOf(each.outputBytes),
    each.argv.map(quoted).join(' '),
  ]);
  const table = [['NAME', 'STATE', 'PID', 'AGE', 'OUTPUT', 'COMMAND'], ...rows];
  const widths = table.reduce((widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, cell.length)), [0]);
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return lines
    .map((row, index) => (isColoured && index > 0 ? coloured(row, processes[index - 1]) : row).join('  ').trimEnd())
    .map((line) => `${line}\n`)
    .join('');
}

function coloured(row: readonly string[], status: ProcessStatus | undefined): string[] {
  const colour =
    status?.state === 'running' ? 'green' : status?.ending?.kind === 'code' && status.ending.code === 0 ? 'gray' : 'red';
  return row.map((cell, column) => (column === 1 ? paint(colour, cell) : cell));
}

function stateOf({ ending }: ProcessStatus): string {
  return ending === undefined ? 'running' : endingText(ending);
}

/** In two words. */
export function endingText(ending: Ending): string {
  if (ending.reason === 'timedOut' || ending.reason === 'idleTimedOut') return 'timed out';
  switch (ending.kind) {
    case 'code':
      return `exited ${ending.code}`;
    case 'signal':
      return ending.signal;
    case 'lost':
      return 'lost';
  }
}

function ageOf(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h${Math.floor((seconds % 3_600) / 60)}m`;
  return `${Math.floor(seconds / 86_400)}d${Math.floor((seconds % 86_400) / 3_600)}h`;
}

function sizeOf(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)}${units[power]}`;
}
