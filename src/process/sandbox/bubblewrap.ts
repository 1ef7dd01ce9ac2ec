// The command line that makes bubblewrap show a command only what it may see, and whether that works on this machine.
// Knows namespaces and mounts; knows no policies.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { Writable } from 'node:stream';
import { findProgram, spawnFailed } from '../start/spawn-failure.js';

/** What a command gets of a path and of everything below it, down to the next path with a view of its own. */
export type View = 'read' | 'write' | 'hide';

/** Programs that were seen to work together on this machine. */
export interface Bubblewrap {
  readonly bwrap: string;
  /** One that can block signals. */
  readonly env: string;
  /** Gives a program another name than its file's; undefined where there is none. */
  readonly perl: string | undefined;
  readonly userNamespace: readonly string[];
  /** Which system calls are denied, for each of the two networks. */
  readonly filters: Readonly<Record<Enclosure['network'], Uint8Array>>;
}

export interface Enclosure {
  /** Ancestors come before what is below them. */
  readonly views: ReadonlyMap<string, View>;
  readonly network: 'none' | 'shared';
  readonly cwd: string;
}

/** A command as its program is to see it. */
export interface InnerCommand {
  readonly file: string;
  readonly argv: readonly string[];
  /** Whether argv[0] leads to the file by itself, inside as outside, or is another name for it. */
  readonly name: 'leadsToFile' | 'differs';
  /** Laid over the environment. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What every enclosure begins with: nothing can be written; devices and processes are the sandbox's own. */
export const everywhere: readonly (readonly [string, View])[] = [
  ['/', 'read'],
  ['/dev', 'hide'],
  ['/proc', 'hide'],
];

/** From the strictest on. With less, the kernel offers more to attack, but nothing becomes writable or reachable. */
const userNamespaces = [['--unshare-user', '--disable-userns'], ['--unshare-user'], []] as const;

/** Root, too, keeps no capability. What is left when the command or the server has ended is killed by the kernel. */
const isolation = [
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--cap-drop',
  'ALL',
  '--die-with-parent',
];

/** The filter is read from descriptor 3, which bubblewrap closes: it has no option that takes a file. */
const filtered = ['--seccomp', '3'];

/** bubblewrap takes no more, the command's own arguments included. */
const maxArguments = 9_000;

/** Gives a program another name than its file's: exec with the name as an argument of its own. */
const renameScript = 'my $file = shift; exec { $file } @ARGV';

/** A command line whose program is `env`, and what it has to find on descriptor 3: without that it does not run. */
export interface Enclosed {
  readonly args: readonly string[];
  readonly fd3: Uint8Array;
}

/**
 * The command shut in. A signal to the group, from a terminal or from the server, reaches bubblewrap's own
 * processes as well, and would end the sandbox before the command can answer. So they block every signal, and only the command
 * is given them back. Until that is done, some milliseconds after the start, it hears none but SIGKILL.
 */
export function enclosed(bubblewrap: Bubblewrap, enclosure: Enclosure, command: InnerCommand): Enclosed {
  const { bwrap, env, userNamespace } = bubblewrap;
  const { views, network, cwd } = enclosure;
  const argv = [
    ...userNamespace,
    ...isolation,
    ...filtered,
    ...(network === 'none' ? ['--unshare-net'] : []),
    ...mounts(views),
    ...['--chdir', cwd, '--'],
    ...[env, '--default-signal', '-u', 'PWD', '--'], // bubblewrap sets PWD, whatever it was
    ...Object.entries(command.variables).map(([name, value]) => `${name}=${value}`),
    ...startOf(command, bubblewrap),
  ];
  if (argv.length > maxArguments) {
    const most = maxArguments - argv.length + command.argv.length;
    throw spawnFailed('badArgument', `argv has ${command.argv.length} strings; in this sandbox there can be ${most}`);
  }
  return { args: ['--block-signal', bwrap, ...argv], fd3: bubblewrap.filters[network] };
}

function startOf({ file, argv, name }: InnerCommand, { perl }: Bubblewrap): readonly string[] {
  if (name === 'leadsToFile') return argv;
  if (perl !== undefined) return [perl, '-e', renameScript, file, ...argv];
  throw spawnFailed('badArgument', `the name "${argv[0]}" for "${file}" in a sandbox needs perl in the server's PATH`);
}

/**
 * What is made up to hide something stays writable until every mount point in it is made, and no longer: through a setting in /proc
 * such as core_pattern, root could have the kernel run a program outside.
 */
function mounts(views: ReadonlyMap<string, View>): string[] {
  const madeUp = [...views].filter(([path, view]) => view === 'hide' && isFolder(path));
  return [...[...views].flatMap(([path, view]) => mount(path, view)), ...madeUp.flatMap(([path]) => ['--remount-ro', path])];
}

function mount(path: string, view: View): string[] {
  switch (view) {
    case 'read':
      return ['--ro-bind', path, path];
    case 'write':
      return ['--bind', path, path];
    case 'hide':
      // Shared memory is memory: a command has its own, whatever it may do to files.
      if (path === '/dev') return ['--dev', path, '--tmpfs', '/dev/shm'];
      // It lists the keys of the user's session, which belong to no namespace.
      if (path === '/proc')
        return ['--proc', path, ...(existsSync('/proc/keys') ? ['--ro-bind', '/dev/null', '/proc/keys'] : [])];
      return isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export type Trial =
  | { readonly kind: 'works'; readonly bubblewrap: Bubblewrap }
  | { readonly kind: 'fails'; readonly problem: string };

/** Encloses a command that does nothing, in the strictest way that works. Never rejects. */
export async function tryBubblewrap(path: string | undefined): Promise<Trial> {
  if (process.platform !== 'linux') return fails(`sandboxed commands need Linux and bubblewrap; this is ${process.platform}`);
  const bwrap = programIn(path, 'bwrap');
  if (bwrap === undefined) {
    return fails('bubblewrap is not in PATH: apt install bubblewrap; other systems have it under the same name');
  }
  const env = programIn(path, 'env');
  if (env === undefined || (await run(env, { args: ['--block-signal', env, '--default-signal'] })).kind !== 'done') {
    return fails('there is no env in PATH that can block signals: install GNU coreutils 8.31 or later');
  }
  const { compileFilter } = await import('./seccomp.js');
  const [none, shared] = [compileFilter(process.arch, 'none'), compileFilter(process.arch, 'shared')];
  if (none === undefined || shared === undefined) {
    return fails(`sandboxed commands need a machine of the kind x64 or arm64; the system calls of ${process.arch} are not known`);
  }
  const perl = programIn(path, 'perl');
  const enclosure: Enclosure = { views: new Map(everywhere), network: 'none', cwd: '/' };
  const command: InnerCommand = { file: env, argv: [env], name: 'leadsToFile', variables: {} };
  let problem = '';
  for (const userNamespace of userNamespaces) {
    const bubblewrap = { bwrap, env, perl, userNamespace, filters: { none, shared } };
    const outcome = await run(env, enclosed(bubblewrap, enclosure, command));
    if (outcome.kind === 'done') return { kind: 'works', bubblewrap };
    if (outcome.kind === 'slow') return fails(`${bwrap} does not come to an end within ${patienceMs} ms; try it by hand`);
    problem = outcome.problem;
  }
  return fails(`bubblewrap does not work here (${problem}): ${remedy()}`);
}

function fails(problem: string): Trial {
  return { kind: 'fails', problem };
}

function programIn(path: string | undefined, program: string): string | undefined {
  try {
    return findProgram(program, '/', path);
  } catch {
    return undefined; // missing or not executable: it has to be installed either way
  }
}

type Outcome = { readonly kind: 'done' } | { readonly kind: 'slow' } | { readonly kind: 'failed'; readonly problem: string };

/** Longest it may take to do nothing. */
const patienceMs = 5_000;

/** Characters kept of what a program says about its failure; its first line is told. */
const maxProblemLength = 4096;

async function run(
  file: string,
  { args, fd3 }: { readonly args: readonly string[]; readonly fd3?: Uint8Array },
): Promise<Outcome> {
  const options = { cwd: '/', env: {}, timeout: patienceMs, killSignal: 'SIGKILL' } as const;
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
  const third = child.stdio[3];
  if (third instanceof Writable) third.on('error', () => {}).end(fd3); // an answer without reading it is an answer
  let stderr = '';
  child.stderr?.on('data', (bytes: Buffer) => void (stderr = `${stderr}${bytes.toString()}`.slice(0, maxProblemLength)));
  try {
    await once(child, 'close');
  } catch (error) {
    return { kind: 'failed', problem: String(error) };
  }
  if (child.exitCode === 0) return { kind: 'done' };
  if (child.killed) return { kind: 'slow' };
  return { kind: 'failed', problem: /^.+$/m.exec(stderr)?.[0] ?? `it ends with ${child.exitCode ?? child.signalCode}` };
}

/** What usually keeps bubblewrap from working, in the order of how surely it does. */
function remedy(): string {
  if (setting('user/max_user_namespaces') === '0') return 'as root: sysctl user.max_user_namespaces=15000';
  if (setting('kernel/unprivileged_userns_clone') === '0') return 'as root: sysctl kernel.unprivileged_userns_clone=1';
  if (setting('kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return 'give bwrap an AppArmor profile with "userns,", or as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0';
  }
  return 'it must be allowed to make namespaces and to mount /proc; in a container, by --security-opt seccomp=unconfined and systempaths=unconfined';
}

function setting(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
  } catch {
    return undefined; // other kernels have other settings
  }
}
