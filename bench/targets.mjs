// The measured programs: Sluice as built here, and codex from its npm package.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { root } from '../scripts/tool.mjs';
import { scratchInstall } from '../test/e2e/scratch-install.mjs';

/** @import { Target } from './server.mjs' */

const codexVersion = '0.166.0';

/** @returns {Target} */
export function sluiceTarget() {
  const { bin } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const program = path.join(root, bin.sluice);
  if (!existsSync(program)) throw new Error(`${program} is missing; run \`npm run build\``);
  return { name: 'sluice', command: [process.execPath, '--', program, 'serve'], order: 'strict' };
}

/**
 * Codex twice: the native program in the package, which most lines measure, and the Node launcher around it, which `npm install` puts in
 * the PATH.
 * @returns {Record<'native' | 'launcher', Target>}
 */
export function codexTargets() {
  const launcher = scratchInstall({ name: '@openai/codex', version: codexVersion, program: 'codex' });
  const folder = path.join(path.dirname(launcher), '..', '@openai');
  const native = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((file) =>
    /\/vendor\/.*\/bin\/codex$/.test(file),
  );
  if (native === undefined) throw new Error(`${folder} has no native codex for this machine`);
  return {
    native: { name: 'codex', command: [path.join(folder, native), 'exec-server'], order: 'any' },
    launcher: { name: 'codex of npm', command: [launcher, 'exec-server'], order: 'any' },
  };
}
