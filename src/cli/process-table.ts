// The table of `sluice ps`: a row for each process.

import type { Ending, ProcessStatus } from '../protocol/index.js';
import { shownSize } from './byte-size.js';
import { paint } from './colour.js';
import { labelsOf } from './labels.js';
import { qualifiedName } from './server-choice.js';
import { quoted } from './shell-words.js';
import { columnsOf, cutTo, padTo } from './text-width.js';
import { visible } from './visible-text.js';

export interface TableOptions {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly isColoured: boolean;
  /** The width of the terminal: longer lines are cut. Unlimited when absent. */
  readonly columns?: number;
}

export function processTable(processes: readonly ProcessStatus[], { now, isColoured, columns = Infinity }: TableOptions): string {
  const names = processes.map(({ processId }) => processId);
  const hasLabels = processes.some((each) => labelsOf(each).length > 0);
  const rows = processes.map((each) => [
    visible(names.filter((name) => name === each.processId).length > 1 ? qualifiedName(each) : each.processId),
    visible(stateOf(each)),
    String(each.pid),
    ageOf((each.ending?.endedAt ?? now) - each.startedAt),
    shownSize(each.outputBytes),
    ...(hasLabels ? [visible(labelText(each))] : []),
    each.argv.map(quoted).join(' '),
  ]);
  const table = [['NAME', 'STATE', 'PID', 'AGE', 'OUTPUT', ...(hasLabels ? ['LABELS'] : []), 'COMMAND'], ...rows];
  const widths = table.reduce((widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, columnsOf(cell))), [0]);
  const lines = table.map((row) => row.map((cell, column) => padTo(widths[column] ?? 0, cell)));
  return lines
    .map((cells, index) => {
      const line = cutTo(columns, cells.join('  ').trimEnd());
      return `${isColoured && index > 0 ? coloured(line, cells, processes[index - 1]) : line}\n`;
    })
    .join('');
}

/** Colours the state, as far as the line was not cut before it. */
function coloured(line: string, [name = '', state = '']: readonly string[], status: ProcessStatus | undefined): string {
  const colour =
    status?.state === 'running' ? 'green' : status?.ending?.kind === 'code' && status.ending.code === 0 ? 'gray' : 'red';
  const begin = name.length + 2;
  const end = begin + state.length;
  if (line.length <= begin) return line;
  return `${line.slice(0, begin)}${paint(colour, line.slice(begin, end))}${line.slice(end)}`;
}

function labelText(status: ProcessStatus): string {
  return labelsOf(status)
    .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
    .join(',');
}

function stateOf({ ending }: ProcessStatus): string {
  return ending === undefined ? 'running' : endingText(ending);
}

/** A word or two, as in `exited 0`. */
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
