// A command and a policy -> the command enclosed by bubblewrap. Decides what may be seen and written; bubblewrap.ts knows how.

import { existsSync, mkdirSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { type Clock, systemClock } from '../../base/clock.js';
import { type PreparedSpec, type SandboxPolicy, execError, isExecError } from '../../protocol/index.js';
import { type Bubblewrap, type InnerCommand, type View, enclosed, tryBubblewrap } from './bubblewrap.js';
import { folderAt, realPath, runtimeFolders, viewOf, viewsFor } from './views.js';
import type { SpawnSpec } from '../start/spawn.js';
import { errnoOf, findProgram, interpreterOf, spawnFailed, spawnFailureFrom } from '../start/spawn-failure.js';

export interface SandboxOptions {
  /** The server's environment: PATH finds bubblewrap, TMPDIR is writable, and a Sluice may listen in XDG_RUNTIME_DIR. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Paths that no sandboxed command may reach, such as the server's sockets. While one of them is missing, no command gets the network. */
  readonly hidden: readonly string[];
  /** `never`: a command with network access could bypass the sandbox, so no command gets it. `onRequest` when absent. */
  readonly sharesNetwork?: 'onRequest' | 'never';
  readonly clock?: Clock;
}

/** The machine may be fixed while the server runs; between trials, a refusal costs nothing. */
const retryAfterMs = 60_000;

const noNetwork =
  'networkAccess is refused while the server can be reached over the network without a token: the command could use it to run anything ' +
  'outside the sandbox; start the server with --token-file, or on a Unix socket';

/**
 * Variables that make the loader, the C library or perl use files chosen by the command, and PWD, which bubblewrap overwrites.
 * Processes outside the sandbox must not get them. They are passed as arguments, which ps shows, so none of them may be a secret.
 */
const insideOnly = /^(?:LD_.*|GLIBC_TUNABLES|MALLOC_.*|GCONV_PATH|LOCPATH|MUSL_LOCPATH|NLSPATH|LANGUAGE|PERL.*|PWD)$/;

/**
 * Not covered: with the network shared, services that trust their clients, on a loopback address or a Unix socket, unless `hidden` or
 * views.ts names their folder; protected paths (protected-paths.ts) that do not exist yet; file systems that are mounted while the command
 * runs; a folder that a command under another policy has replaced by a link. Root runs without privileges: files of other users are
 * subject to their permissions.
 */
export class Sandbox {
  readonly type = 'bubblewrap';
  readonly #options: SandboxOptions;
  readonly #clock: Clock;
  #trial: Promise<string | undefined> | undefined;
  #failedAt: number | undefined;
  #bubblewrap: Bubblewrap | undefined;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Resolves with undefined when sandboxed commands can run here, otherwise with a text that says what to install or change.
   * Tries it out once, and again on a call a minute or more after a failure. Takes seconds at most; never rejects.
   */
  ready(): Promise<string | undefined> {
    const isOutdated = this.#failedAt !== undefined && this.#clock.elapsed() - this.#failedAt >= retryAfterMs;
    if (this.#trial === undefined || isOutdated) {
      this.#failedAt = undefined;
      this.#trial = this.#try();
    }
    return this.#trial;
  }

  /**
   * The enclosed command; unchanged for `dangerFullAccess`. Throws `ExecError`: sandboxUnavailable unless `ready` has resolved with
   * undefined before, spawnFailed for a program that cannot run, invalidParams for folders that cannot be used in a sandbox.
   */
  wrap(spec: SpawnSpec, policy: SandboxPolicy): SpawnSpec {
    if (policy.type === 'dangerFullAccess') return spec;
    const bubblewrap = this.#bubblewrap;
    if (bubblewrap === undefined) throw execError('sandboxUnavailable', { problem: 'the sandbox has not been tested yet' });
    const cwd = folderAt(spec.cwd);
    if (cwd === undefined) {
      const failure = existsSync(spec.cwd) ? 'cwdNotDirectory' : 'cwdNotFound';
      throw spawnFailed(failure, `cwd "${spec.cwd}" is not a reachable folder`);
    }
    const { env, hidden, sharesNetwork } = this.#options;
    const network = policy.networkAccess === true ? 'shared' : 'none';
    if (network === 'shared' && sharesNetwork === 'never') throw execError('sandboxUnavailable', { problem: noNetwork });
    const ownFolders = runtimeFolders(env);
    // A path that does not exist cannot be hidden. Without a network, the filter denies the sockets needed to reach it.
    if (network === 'shared') {
      requireAll(hidden);
      ownFolders.forEach(makeFolder);
    }
    const views = viewsFor(policy, { cwd, tmpdir: env['TMPDIR'], hidden: [...hidden, ...ownFolders] });
    const { args, fd3 } = enclosed(bubblewrap, { views, network, cwd: cwd.real }, innerCommand(spec, views));
    return {
      program: { kind: 'exact', path: bubblewrap.env },
      argv: ['env', ...args],
      cwd: spec.cwd,
      env: Object.fromEntries(Object.entries(spec.env).filter(([name]) => !insideOnly.test(name))),
      io: spec.io,
      arg0: undefined,
      fd3,
    };
  }

  async #try(): Promise<string | undefined> {
    const trial = await tryBubblewrap(this.#options.env['PATH']);
    if (trial.kind === 'works') {
      this.#bubblewrap = trial.bubblewrap;
      return undefined;
    }
    this.#failedAt = this.#clock.elapsed();
    return trial.problem;
  }
}

/**
 * For client authors: resolves and encloses a command on this machine, which must be the server's, to be started as `prepared`. Pass a
 * sandbox to try it out only once for many commands. Rejects with a message that says what to do when no sandbox is possible.
 */
export async function prepareSandboxed(
  command: Pick<SpawnSpec, 'argv' | 'cwd' | 'env' | 'io'>,
  policy: SandboxPolicy,
  sandbox = new Sandbox({ env: process.env, hidden: [] }),
): Promise<PreparedSpec> {
  const problem = policy.type === 'dangerFullAccess' ? undefined : await sandbox.ready();
  if (problem !== undefined) throw new Error(problem);
  const { program, argv, cwd, env, io, fd3 } = sandbox.wrap({ ...command, program: { kind: 'lookup' }, arg0: undefined }, policy);
  const file = program.kind === 'exact' ? program.path : findProgram(argv[0] ?? '', cwd, env['PATH']);
  return { program: file, argv: [...argv], cwd, env: { ...env }, io, ...(fd3 === undefined ? {} : { fd3 }) };
}

function requireAll(hidden: readonly string[]): void {
  const absent = hidden.find((path) => realPath(path) === undefined);
  if (absent === undefined) return;
  const problem = `networkAccess is refused while "${absent}" does not exist: if created later, it could not be hidden from the command`;
  throw execError('sandboxUnavailable', { problem });
}

/** Creates a folder that only this user can access. Where this user may not create it, no server of this user can listen either. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!['EEXIST', 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS'].includes(errnoOf(error) ?? '')) throw error;
  }
}

function innerCommand(spec: SpawnSpec, views: ReadonlyMap<string, View>): InnerCommand {
  const { program, argv, arg0, cwd, env } = spec;
  const [first, ...rest] = argv;
  if (first === undefined) throw spawnFailed('badArgument', 'argv must not be empty');
  const path = program.kind === 'exact' ? program.path : first;
  if (program.kind === 'exact' && !isAbsolute(path))
    throw spawnFailed('badArgument', `program must be an absolute path, got "${path}"`);
  const file = findProgram(path, cwd, env['PATH']);
  const interpreter = interpreterOf(file);
  if (interpreter !== undefined && !existsSync(resolve(cwd, interpreter))) throw spawnFailureFrom('ENOENT', file, cwd);
  if ([file, realPath(file) ?? file].some((each) => viewOf(each, views) === 'hide')) {
    throw spawnFailed('programNotFound', `program "${file}" is hidden from sandboxed commands`);
  }
  const name = arg0 ?? first;
  return {
    file,
    argv: [name, ...rest],
    name: leadsTo(file, name, spec) ? 'leadsToFile' : 'differs',
    variables: Object.fromEntries(Object.entries(env).filter(([variable]) => insideOnly.test(variable))),
  };
}

/** env would take a name with "=" as a variable and "-" as an option. */
function leadsTo(file: string, name: string, { cwd, env }: SpawnSpec): boolean {
  if (name.includes('=') || name === '-') return false;
  try {
    return findProgram(name, cwd, env['PATH']) === file;
  } catch (error) {
    if (!isExecError(error, 'spawnFailed')) throw error;
    return false;
  }
}
