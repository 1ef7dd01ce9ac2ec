// Which places of a module a run reached, as V8 counted in all its processes. Those that were killed could not tell.

import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * @param {string} folder that NODE_V8_COVERAGE named
 * @param {Map<string, number[]>} places by the file they are in
 * @returns {Map<string, Set<number>>} those that were reached
 */
export function reachedIn(folder, places) {
  const reached = new Map([...places.keys()].map((file) => [file, new Set()]));
  const files = new Map([...places.keys()].map((file) => [pathToFileURL(file).href, file]));
  for (const report of readdirSync(folder)) {
    for (const { url, functions } of readReport(path.join(folder, report))) {
      const file = files.get(url);
      if (file === undefined) continue;
      const ranges = functions.flatMap((each) => each.ranges);
      for (const place of places.get(file)) if (isReached(place, ranges)) reached.get(file).add(place);
    }
  }
  return reached;
}

/** A process that was killed leaves half a report. */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).result;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return [];
  }
}

/** The smallest range around a place is the one that counts. */
function isReached(place, ranges) {
  let smallest;
  for (const range of ranges) {
    if (range.startOffset > place || range.endOffset <= place) continue;
    if (smallest === undefined || range.endOffset - range.startOffset < smallest.endOffset - smallest.startOffset)
      smallest = range;
  }
  return smallest !== undefined && smallest.count > 0;
}
