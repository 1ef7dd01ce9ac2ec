// Usage of the runs in a log folder. Programs report running totals of a session, so a run that resumed one is charged only for what was
// added since.

import path from 'node:path';
import type { OutcomeKind } from './outcome.js';
import { readRun, runsIn } from './run-log.js';
import { type RunWriter, isGone } from './run-writer.js';
import { type Usage, addUsage, usageSince } from './usage.js';

export interface RunSummary {
  readonly runId: string;
  readonly adapter: string;
  readonly cwd: string;
  /** Start time, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly sessionId: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined while it runs, and when its end was never written. */
  readonly outcome: OutcomeKind | undefined;
  /** No end was written, and the process that ran it is gone. Also false when that cannot be determined, as on another machine. */
  readonly hasCrashed: boolean;
  /** Of this run alone. */
  readonly usage: Usage;
}

const nothing: Usage = { models: {} };

/** Oldest first. Skips files that are not run logs. */
export async function summarizeRuns(folder: string): Promise<RunSummary[]> {
  const summaries: RunSummary[] = [];
  const sessions = new Map<string, Usage>();
  for (const runId of runsIn(folder)) {
    const run = await summarize(path.join(folder, `${runId}.jsonl`));
    if (run === undefined) continue;
    const { total, ...summary } = run;
    const before = summary.sessionId === undefined ? undefined : sessions.get(summary.sessionId);
    summaries.push({ ...summary, usage: usageSince(total, before) });
    if (summary.sessionId !== undefined) sessions.set(summary.sessionId, total);
  }
  return summaries;
}

/** Total usage of all runs in the folder. */
export async function totals(folder: string): Promise<Usage> {
  return (await summarizeRuns(folder)).reduce((sum, { usage }) => addUsage(sum, usage), nothing);
}

async function summarize(file: string): Promise<(Omit<RunSummary, 'usage'> & { readonly total: Usage }) | undefined> {
  let summary: (Omit<RunSummary, 'usage'> & { readonly total: Usage }) | undefined;
  let writer: RunWriter | undefined;
  for await (const line of readRun(file)) {
    if (line.type === 'run') {
      const { runId, adapter, cwd, at, resume, labels = {} } = line;
      summary = { runId, adapter, cwd, at, sessionId: resume, labels, outcome: undefined, hasCrashed: false, total: nothing };
      writer = line.writer;
    } else if (summary !== undefined) {
      if (line.type === 'session') summary = { ...summary, sessionId: line.sessionId };
      if (line.type === 'usage') summary = { ...summary, total: line.usage };
      if (line.type === 'ended') summary = { ...summary, outcome: line.outcome.kind };
    }
  }
  if (summary === undefined || summary.outcome !== undefined || writer === undefined) return summary;
  return { ...summary, hasCrashed: isGone(writer) };
}
