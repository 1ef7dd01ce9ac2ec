// The built program inside a shell script, for what only a shell can set up: redirections, pipelines, ignored signals.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Ran, type RunOptions, collect } from './cli.js';
import { program } from './sluice-server.js';

/** `sluice` starts Node as the other tests do; `closedPipe` runs a command whose stdout is a pipe without a reader. */
const prelude = `
sluice() { "$SLUICE_TEST_NODE" -- "$SLUICE_TEST_PROGRAM" "$@"; }
closedPipe() {
  mkfifo "$SLUICE_TEST_FOLDER/pipe"
  exec 7<>"$SLUICE_TEST_FOLDER/pipe" 8>"$SLUICE_TEST_FOLDER/pipe" 7<&-
  rm "$SLUICE_TEST_FOLDER/pipe"
  "$@" >&8 8>&-
}
`;

/** Runs the script to completion. `folder` is for its files. */
export async function inShell(
  script: string,
  { folder, env, cwd }: Omit<RunOptions, 'input'> & { folder: string },
): Promise<Ran> {
  const own = { SLUICE_TEST_NODE: process.execPath, SLUICE_TEST_PROGRAM: program, SLUICE_TEST_FOLDER: folder };
  const child = spawn('sh', ['-c', `${prelude}\n${script}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env, ...own },
    cwd: cwd ?? folder,
  });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}
