// The lines of the benchmark, in the order of the report.

import { coldStartLines } from './cold-start.mjs';
import { echoLines } from './echo.mjs';
import { fileCallLines } from './file-calls.mjs';
import { fileTransferLines } from './file-transfers.mjs';
import { floodLines, stoppedReaderLines } from './flood.mjs';
import { growthLines, growthTables } from './growth.mjs';
import { hundredLines } from './hundred.mjs';
import { memoryLines } from './memory.mjs';
import { readLines } from './read.mjs';
import { spawnLines, spawnRateLines } from './spawn.mjs';

/** Sluice compared with codex. */
export const allLines = [
  ...spawnLines,
  ...spawnRateLines,
  ...echoLines,
  ...floodLines,
  ...hundredLines,
  ...stoppedReaderLines,
  ...memoryLines,
  ...readLines,
  ...fileCallLines,
  ...fileTransferLines,
  ...coldStartLines,
  ...growthLines,
];

/** How the cost of Sluice grows, for the documentation. */
export { growthTables };
