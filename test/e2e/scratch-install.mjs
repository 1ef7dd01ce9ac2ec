// Returns the path of a program from an npm package of an exact version. The package is installed on first use into a folder of this user
// below the system's temporary folder, and stays there for the next run.

import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';

/** Enough for a package of a few hundred megabytes over a slow line, in milliseconds. */
const installMs = 600_000;

/**
 * @param {object} wanted
 * @param {string} wanted.name of the package
 * @param {string} wanted.version exact
 * @param {string} wanted.program name of one of the package's programs
 * @param {'run' | 'ignore'} [wanted.scripts] whether the package needs its install scripts to build the program; `ignore` when absent
 * @returns {string} path of the program
 */
export function scratchInstall({ name, version, program, scripts = 'ignore' }) {
  const scratch = ownFolder(path.join(tmpdir(), `sluice-scratch-${userInfo().uid}`));
  const home = path.join(scratch, `${name.replace('@', '').replaceAll('/', '-')}-${version}`);
  const executable = path.join(home, 'node_modules', '.bin', program);
  if (!existsSync(executable)) installInto(home, { spec: `${name}@${version}`, scripts });
  if (!existsSync(executable)) throw new Error(`${home} has no program "${program}"; delete the folder to reinstall it`);
  return executable;
}

/**
 * Any user can create a folder of this name below the temporary folder; programs are run only from one that this user created.
 * @param {string} folder
 */
function ownFolder(folder) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(folder);
  if (uid !== userInfo().uid || (mode & 0o022) !== 0) throw new Error(`${folder} must be owned and writable by this user only`);
  return folder;
}

/**
 * Installs into a folder next to `home` and then renames it: `home` is always complete, even if two runs install at the same time.
 * @param {string} home
 * @param {{ spec: string, scripts: 'run' | 'ignore' }} what
 */
function installInto(home, { spec, scripts }) {
  process.stderr.write(`installing ${spec} …\n`);
  const partial = mkdtempSync(`${home}.`);
  try {
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
    const args = ['install', '--prefix', partial, ...quiet, ...(scripts === 'ignore' ? ['--ignore-scripts'] : []), spec];
    const { status, error } = spawnSync('npm', args, { cwd: partial, stdio: ['ignore', 2, 2], timeout: installMs });
    if (error !== undefined) throw error;
    if (status !== 0) throw new Error(`npm install ${spec} ended with code ${status}`);
    renameSync(partial, home);
  } catch (error) {
    const isInstalled = error instanceof Error && 'code' in error && (error.code === 'ENOTEMPTY' || error.code === 'EEXIST');
    if (!isInstalled) throw error; // otherwise another run was faster
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}
