// A stand-in for claude that takes the same input as the real one, on pipes and on a terminal.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Returns its path; the caller owns the folder. */
export function fakeClaudeIn(folder: string): string {
  const [onPipes, onTerminal] = ['fake-claude.js', 'fake-claude-terminal.js'].map((name) =>
    fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)),
  );
  const program = join(folder, 'claude');
  const script = `if [ -t 0 ]; then file='${onTerminal}'; else file='${onPipes}'; fi\nexec '${process.execPath}' "$file" "$@"\n`;
  writeFileSync(program, `#!/bin/sh\n${script}`, { mode: 0o755 });
  return program;
}

/** An environment in which `claude` is that program and runs are logged in the suite's own folder. Call once at the top of a suite. */
export function fakeClaudeHome(): { folder: string; env: Readonly<Record<string, string>> } {
  const home = { folder: '', env: {} };
  before(() => {
    home.folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    home.env = { XDG_STATE_HOME: home.folder, PATH: `${home.folder}:${process.env['PATH']}` };
    fakeClaudeIn(home.folder);
  });
  after(() => rmSync(home.folder, { recursive: true }));
  return home;
}
