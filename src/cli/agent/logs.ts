// `sluice agent logs`: lists past runs, or shows what one of them did.

import path from 'node:path';
import { type RunSummary, readRun, summarizeRuns } from '../../runner/index.js';
import { didYouMean } from '../closest-name.js';
import { isColoured } from '../colour.js';
import { UsageError } from '../command.js';
import { ownFailure } from '../exit-status.js';
import { complain, print } from '../own-output.js';
import { jsonLine, visible } from '../visible-text.js';
import { type Order, logFolder } from './options.js';
import { RunView } from './view.js';

export async function printLogs({ flags, operands: [name] }: Order): Promise<number> {
  const folder = logFolder(flags);
  const runs = await summarizeRuns(folder);
  if (name === undefined) {
    for (const each of runs) await print(flags.json ? jsonLine(each) : `${runLine(each)}\n`);
    return 0;
  }
  const found = findRun(runs, name);
  const view = new RunView({ isColoured: isColoured(process.stdout) });
  let isEnded = false;
  for await (const line of readRun(path.join(folder, `${found.runId}.jsonl`), { follow: flags.follow })) {
    if (flags.json) await print(jsonLine(line));
    else if (line.type !== 'run') await print(view.show(line));
    isEnded = line.type === 'ended';
  }
  if (!flags.json) await print(view.endLine());
  if (isEnded || !(flags.follow || found.hasCrashed)) return 0;
  await complain(`run ${found.runId} never ended: the process that ran it is gone`);
  return flags.follow ? ownFailure : 0;
}

/** Finds a run by its exact id, or else the newest run of the session with this id. `runs` has the oldest first. */
function findRun(runs: readonly RunSummary[], name: string): RunSummary {
  const found = runs.find(({ runId }) => runId === name) ?? runs.findLast(({ sessionId }) => sessionId === name);
  if (found !== undefined) return found;
  const names = runs.flatMap(({ runId, sessionId }) => [runId, ...(sessionId === undefined ? [] : [sessionId])]);
  throw new UsageError(`there is no run "${name}"; ${didYouMean(name, names) ?? '"sluice agent logs" lists them'}`);
}

function runLine({ runId, adapter, outcome, hasCrashed, sessionId = '-', labels }: RunSummary): string {
  const state = outcome ?? (hasCrashed ? 'crashed' : 'no end yet');
  const names = Object.entries(labels).map(([name, value]) => `  ${name}=${value}`);
  return visible(`${runId}  ${adapter.padEnd(6)}  ${state.padEnd(12)}  ${sessionId}${names.join('')}`);
}
