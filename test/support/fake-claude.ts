// A program by the name of claude that is driven as the real one is, on pipes and on a terminal.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Its path; the folder is the caller's. */
export function fakeClaudeIn(folder: string): string {
  const [onPipes, onTerminal] = ['fake-claude.js', 'fake-claude-terminal.js'].map((name) =>
    fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)),
  );
  const program = join(folder, 'claude');
  const script = `if [ -t 0 ]; then file='${onTerminal}'; else file='${onPipes}'; fi\nexec '${process.execPath}' "$file" "$@"\n`;
  writeFileSync(program, `#!/bin/sh\n${script}`, { mode: 0o755 });
  return program;
}
