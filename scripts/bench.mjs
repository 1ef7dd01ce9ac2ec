// Runs every benchmark with the same options, one after the other, and stops at the first that fails.
//
//   npm run bench -- [--quick] [--json]

import path from 'node:path';
import { succeeds } from './tool.mjs';

for (const script of ['bench-spawn.mjs', 'bench-cli-start.mjs']) {
  console.log(`\n▸ ${script}\n`);
  if (!succeeds(process.execPath, [path.join('scripts', script), ...process.argv.slice(2)])) process.exit(1);
}
