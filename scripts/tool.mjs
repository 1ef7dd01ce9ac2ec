// The project's root folder, and how its installed tools are run. Knows nothing about the steps of the build or the tests.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/**
 * Runs a program in the project's root, with inherited stdio; true if it exits with code 0.
 * @param {string} program
 * @param {readonly string[]} args
 */
export function succeeds(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit' });
  if (error !== undefined) throw error;
  return status === 0;
}

/**
 * Path of a tool that `npm ci` installed.
 * @param {string} name
 */
export function tool(name) {
  return path.join(root, 'node_modules', '.bin', name);
}
