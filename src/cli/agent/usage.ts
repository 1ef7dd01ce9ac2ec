// `sluice agent usage`: prints what runs have used, in a table by run, by day or by model.

import { type ModelUsage, type RunSummary, type Usage, addUsage, summarizeRuns } from '../../runner/index.js';
import { print } from '../own-output.js';
import { jsonLine, visible } from '../visible-text.js';
import { type AgentFlags, type Order, logFolder } from './options.js';

export async function printUsage({ flags }: Order): Promise<number> {
  const runs = await summarizeRuns(logFolder(flags));
  await print(flags.json ? runs.map(jsonLine).join('') : usageTable(runs, flags.by ?? 'run'));
  return 0;
}

type UsageKey = NonNullable<AgentFlags['by']>;

function usageTable(runs: readonly RunSummary[], by: UsageKey): string {
  const rows = [...groups(runs, by)].map(([key, usage]) => [visible(key), ...figures(usage)]);
  const total = runs.reduce((sum, { usage }) => addUsage(sum, usage), { models: {} } as Usage);
  const table = [
    [by.toUpperCase(), 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST'],
    ...rows,
    ['total', ...figures(total)],
  ];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  const printed = table.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '),
  );
  return `${printed.join('\n')}\n`;
}

function groups(runs: readonly RunSummary[], by: UsageKey): Map<string, Usage> {
  const grouped = new Map<string, Usage>();
  const add = (key: string, usage: Usage) => grouped.set(key, addUsage(grouped.get(key) ?? { models: {} }, usage));
  for (const { runId, at, usage } of runs) {
    if (by === 'run') add(runId, usage);
    if (by === 'day') add(new Date(at).toISOString().slice(0, 10), usage);
    // Programs report the cost of a whole run, not of each model, so it is left out here.
    if (by === 'model') for (const [model, tokens] of Object.entries(usage.models)) add(model, { models: { [model]: tokens } });
  }
  return grouped;
}

function figures({ models, costUsd }: Usage): string[] {
  const sum = (kind: keyof ModelUsage) => String(Object.values(models).reduce((total, usage) => total + usage[kind], 0));
  const cost = costUsd === undefined ? '-' : `$${costUsd.toFixed(4)}`;
  return [sum('inputTokens'), sum('outputTokens'), sum('cacheReadTokens'), sum('cacheWriteTokens'), cost];
}
