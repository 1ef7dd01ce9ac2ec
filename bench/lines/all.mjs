// The lines of the benchmark, in the order of the report.

import { coldStartLines } from './cold-start.mjs';
import { echoLines } from './echo.mjs';
import { floodLines, stoppedReaderLines } from './flood.mjs';
import { hundredLines } from './hundred.mjs';
import { spawnLines, spawnRateLines } from './spawn.mjs';

export const allLines = [
  ...spawnLines,
  ...spawnRateLines,
  ...echoLines,
  ...floodLines,
  ...hundredLines,
  ...stoppedReaderLines,
  ...coldStartLines,
];
