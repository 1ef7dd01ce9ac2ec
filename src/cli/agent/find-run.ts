// Which run a name means.

import type { RunSummary } from '../../runner/index.js';
import { didYouMean } from '../closest-name.js';
import { UsageError } from '../command.js';

/** By its exact id, or the newest run of the session with this id. Oldest runs come first. */
export function findRun(runs: readonly RunSummary[], name: string): RunSummary {
  const found = runs.find(({ runId }) => runId === name) ?? runs.findLast(({ sessionId }) => sessionId === name);
  if (found !== undefined) return found;
  const names = runs.flatMap(({ runId, sessionId }) => [runId, ...(sessionId === undefined ? [] : [sessionId])]);
  throw new UsageError(`there is no run "${name}"; ${didYouMean(name, names) ?? '"sluice agent logs" lists them'}`);
}
