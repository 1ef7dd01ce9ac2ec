// SpawnSpec -> Child on the chosen backend. Rejects commands that are known to fail before anything is spawned.

import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Io } from '../../protocol/index.js';
import type { Backend, BackendOptions, Child, ChildEvents, ResolvedCommand } from '../child.js';
import { LinuxBackend } from '../linux/linux-backend.js';
import { returnLargeBlocks } from '../linux/large-blocks.js';
import { loadLibc } from '../linux/libc.js';
import { PortableBackend } from '../portable/portable-backend.js';
import { errnoOf, findProgram, spawnFailed, spawnFailureFrom } from './spawn-failure.js';

/** What to start. The environment is exact: all policies have been applied. */
export interface SpawnSpec {
  /** `lookup` finds argv[0] the way a shell does; `exact` executes the path as given. */
  readonly program: { readonly kind: 'lookup' } | { readonly kind: 'exact'; readonly path: string };
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly io: Io;
  /** The name that the program sees as its own, instead of argv[0]. */
  readonly arg0: string | undefined;
  /** What the program reads from descriptor 3, followed by end-of-file: at most `maxFd3Bytes`. The descriptor is closed when absent. */
  readonly fd3?: Uint8Array | undefined;
}

/** An empty pipe accepts this much even when its user has reached the kernel's pipe limits, so no spawn has to wait for a reader. */
const maxFd3Bytes = 4096;

/** `auto` chooses the Linux backend where it works and the portable one elsewhere. */
export type BackendName = 'auto' | 'linux' | 'portable';

export function createBackend(name: BackendName, options: BackendOptions): Backend {
  const libc = name === 'portable' ? undefined : loadLibc();
  if (libc !== undefined && options.malloc === 'tuned') returnLargeBlocks(libc);
  if (libc !== undefined) return new LinuxBackend(libc, options);
  if (name === 'linux') throw new Error('the Linux backend needs Linux and the optional dependency koffi');
  return new PortableBackend(options.clock);
}

/** Throws `ExecError` spawnFailed when the command cannot run. */
export function spawnChild(backend: Backend, spec: SpawnSpec, events: ChildEvents): Child {
  return backend.spawn(resolveCommand(spec), events);
}

function resolveCommand(spec: SpawnSpec): ResolvedCommand {
  const { argv, cwd, env, io, fd3 } = spec;
  const [name] = argv;
  if (name === undefined) throw spawnFailed('badArgument', 'argv must not be empty');
  refuseNul('argv', argv);
  refuseNul('cwd', [cwd]);
  refuseNul('env', Object.entries(env).flat());
  refuseOverlong('argv', argv);
  refuseOverlong(
    'env',
    Object.entries(env).map(([key, value]) => `${key}=${value}`),
  );
  const misnamed = Object.keys(env).find((key) => key === '' || key.includes('='));
  if (misnamed !== undefined)
    throw spawnFailed('badArgument', `env has a variable named "${misnamed}"; a name must not be empty or contain "="`);
  if (fd3 !== undefined && fd3.length > maxFd3Bytes)
    throw spawnFailed('badArgument', `fd3 must be at most ${maxFd3Bytes} bytes, got ${fd3.length}`);
  requireFolder(cwd);
  const file = spec.program.kind === 'exact' ? spec.program.path : findProgram(name, cwd, env['PATH']);
  if (!isAbsolute(file)) throw spawnFailed('badArgument', `program must be an absolute path, got "${file}"`);
  refuseNul('program', [file]);
  return { file, argv: spec.arg0 === undefined ? argv : [spec.arg0, ...argv.slice(1)], cwd, env, io, fd3 };
}

/** Longest single argument or variable that Linux accepts, its terminating NUL included. */
const longestLinuxString = 128 * 1024;

function refuseOverlong(what: string, texts: readonly string[]): void {
  if (process.platform !== 'linux') return;
  // A UTF-16 unit takes at most three bytes, so most strings need no counting.
  const text = texts.find((each) => each.length * 3 >= longestLinuxString && Buffer.byteLength(each) >= longestLinuxString);
  if (text === undefined) return;
  throw spawnFailed(
    'badArgument',
    `${what} has a string of ${Buffer.byteLength(text)} bytes; the kernel accepts at most ${longestLinuxString - 1}`,
  );
}

function refuseNul(what: string, texts: readonly string[]): void {
  const text = texts.find((candidate) => candidate.includes('\0'));
  if (text !== undefined) throw spawnFailed('badArgument', `${what} must not contain a NUL byte, got ${JSON.stringify(text)}`);
}

function requireFolder(cwd: string): void {
  if (!isAbsolute(cwd)) throw spawnFailed('badArgument', `cwd must be absolute, got "${cwd}"`);
  try {
    if (!statSync(cwd).isDirectory()) throw spawnFailed('cwdNotDirectory', `cwd "${cwd}" is not a folder`);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    if (errno === 'ENOTDIR') throw spawnFailed('cwdNotDirectory', `a parent of cwd "${cwd}" is not a folder`, error);
    if (errno === 'EACCES') throw spawnFailed('permissionDenied', `permission to reach cwd "${cwd}" is denied`, error);
    throw errno === 'ENOENT'
      ? spawnFailed('cwdNotFound', `cwd "${cwd}" does not exist`, error)
      : spawnFailureFrom(errno, cwd, '/');
  }
}
