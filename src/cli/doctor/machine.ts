// Checks what Sluice depends on: Node, the system, the native module, a folder for temporary files.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { release, tmpdir } from 'node:os';
import path from 'node:path';
import { Server } from '../../server/index.js';
import { type Finding, type ReadText, messageOf, readText } from './finding.js';

/** Major and minor, as in package.json under "engines". */
const oldestNode = [20, 19] as const;

export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  if (isEnough) return { state: 'ok', found: version };
  return { state: 'broken', found: `${version} is too old`, remedy: `install Node.js ${oldestNode.join('.')} or newer` };
}

export function platform(name: NodeJS.Platform): Finding {
  if (name === 'linux') return { state: 'ok', found: `Linux ${release()} on ${process.arch}` };
  if (name === 'darwin') return { state: 'ok', found: `macOS, Darwin ${release()} on ${process.arch}` };
  const found = `Sluice runs processes on Linux and macOS, but this is ${name}`;
  return { state: 'broken', found, remedy: 'on Windows, run it inside WSL' };
}

const procRemedy = 'as root: mount -t proc proc /proc; a container needs its own /proc';

/** Where Sluice looks for the descendants of a process. On Linux, ps has no other source either. */
export function processTable(name: NodeJS.Platform, read: ReadText): Finding {
  if (name !== 'linux') return { state: 'ok', found: 'read through ps' };
  if (read('/proc/self/stat') !== undefined) return { state: 'ok', found: 'read from /proc' };
  const found = '/proc is missing or unreadable: descendants that left the process group are not found, and so not ended';
  return { state: 'broken', found, remedy: procRemedy };
}

/** Which of the two backends is used; finding out starts no process. */
export async function backendName(): Promise<Server['backend']> {
  await using server = new Server();
  return server.backend;
}

/** What the portable backend cannot do; docs/architecture.md has the whole table. */
const portableLacks = 'daemons that left their session and their parents are not found, and endings report no resource usage';

export async function backend(): Promise<Finding> {
  const name = await backendName();
  if (name === 'linux') return { state: 'ok', found: 'linux, through koffi' };
  if (process.platform !== 'linux') return { state: 'ok', found: `portable, the one for this system: ${portableLacks}` };
  const { reason, remedy } = await whyPortable();
  return { state: 'warning', found: `portable, because ${reason}: ${portableLacks}`, remedy };
}

interface Cause {
  readonly reason: string;
  readonly remedy: string;
}

async function whyPortable(): Promise<Cause> {
  if (readText('/proc/self/stat') === undefined) return { reason: '/proc is missing or unreadable', remedy: procRemedy };
  let file: string;
  try {
    file = createRequire(import.meta.url).resolve('koffi');
  } catch {
    // Whatever is wrong with the package, reinstalling it is the remedy.
    return {
      reason: 'koffi is not installed',
      remedy: 'npm install koffi, where Sluice is installed; --omit=optional leaves it out',
    };
  }
  const problem = await loadProblem(file);
  if (problem !== undefined) {
    return {
      reason: `koffi cannot be loaded (${problem})`,
      remedy: 'npm install koffi on this machine: its native part is built for one system and processor',
    };
  }
  return {
    reason: `a function is missing from the C library, or ${process.arch} is untested`,
    remedy: 'use a system with glibc 2.29 or musl 1.1.24, or newer',
  };
}

/** Longest a module may take to load. */
const loadMs = 10_000;

/** Loads it in a separate process, because loading may crash. */
async function loadProblem(file: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['-e', 'require(process.argv[1])', file],
      { timeout: loadMs, killSignal: 'SIGKILL' },
      (error, _stdout, stderr) => {
        if (error === null) return resolve(undefined);
        resolve(/^\w*Error: .*$/m.exec(stderr)?.[0] ?? `Node.js ended with ${error.signal ?? `code ${error.code}`}`);
      },
    );
  });
}

export function temporaryFolder(): Finding {
  const written = 'written by sluice doctor';
  try {
    const folder = mkdtempSync(path.join(tmpdir(), 'sluice-doctor-'));
    try {
      const file = path.join(folder, 'file');
      writeFileSync(file, written);
      if (readFileSync(file, 'utf8') !== written) throw new Error(`${file} does not contain what was written to it`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  } catch (error) {
    return { state: 'broken', found: messageOf(error), remedy: 'make the folder writable, or set TMPDIR to one that is' };
  }
  return { state: 'ok', found: `${tmpdir()} is writable` };
}
