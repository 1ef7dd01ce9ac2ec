// The program of test/fixtures/fake-claude.ts under the name of the real one.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Puts it into the folder, and gives a PATH on which it is found first. */
export function putFakeClaude(folder: string): string {
  const file = fileURLToPath(new URL('../fixtures/fake-claude.js', import.meta.url));
  writeFileSync(join(folder, 'claude'), `#!/bin/sh\nexec '${process.execPath}' '${file}' "$@"\n`, { mode: 0o755 });
  return `${folder}:${process.env['PATH']}`;
}
