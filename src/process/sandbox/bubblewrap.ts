// Builds the bubblewrap command line that restricts what a command can see, and checks whether bubblewrap works on this machine.
// Knows namespaces and mounts, but no policies.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { Writable } from 'node:stream';
import { findProgram, spawnFailed } from '../start/spawn-failure.js';

/** What a command may do with a path and everything below it, down to the next path that has its own view. */
export type View = 'read' | 'write' | 'hide';

/** A set of programs that has been verified to work together on this machine. */
export interface Bubblewrap {
  readonly bwrap: string;
  /** An `env` that can block signals. */
  readonly env: string;
  /** Used to run a file under another name; undefined where perl is not installed. */
  readonly perl: string | undefined;
  readonly userNamespace: readonly string[];
  /** The seccomp filter for each of the two networks. */
  readonly filters: Readonly<Record<Enclosure['network'], Uint8Array>>;
}

export interface Enclosure {
  /** Ancestors precede their descendants. */
  readonly views: ReadonlyMap<string, View>;
  readonly network: 'none' | 'shared';
  readonly cwd: string;
}

/** A command as seen inside the sandbox. */
export interface InnerCommand {
  readonly file: string;
  readonly argv: readonly string[];
  /** Whether looking up argv[0] finds the file, inside as well as outside, or argv[0] is a different name. */
  readonly name: 'leadsToFile' | 'differs';
  /** Added to the environment. */
  readonly variables: Readonly<Record<string, string>>;
}

/** The start of every enclosure: everything is read-only, and the sandbox has its own devices and processes. */
export const everywhere: readonly (readonly [string, View])[] = [
  ['/', 'read'],
  ['/dev', 'hide'],
  ['/proc', 'hide'],
];

/** Strictest first. The weaker ones expose more of the kernel to attack, but make nothing else writable or reachable. */
const userNamespaces = [['--unshare-user', '--disable-userns'], ['--unshare-user'], []] as const;

/** Even root keeps no capability. The kernel kills what is left when the command or the server ends. */
const isolation = [
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--cap-drop',
  'ALL',
  '--die-with-parent',
];

/** bubblewrap reads the filter from descriptor 3 and then closes it; there is no option that takes a file. */
const filtered = ['--seccomp', '3'];

/** bubblewrap's own limit, which includes the command's arguments. */
const maxArguments = 9_000;

/** Runs a file under another name: exec with the file and its argv[0] given separately. */
const renameScript = 'my $file = shift; exec { $file } @ARGV';

/** Arguments for `env`, and the bytes that must be readable from descriptor 3: without them the command does not run. */
export interface Enclosed {
  readonly args: readonly string[];
  readonly fd3: Uint8Array;
}

/**
 * The enclosed command. A signal to the group, from a terminal or from the server, also reaches bubblewrap's own processes and would
 * end the sandbox before the command can react. So bubblewrap runs with all signals blocked, and only the command has them unblocked.
 * Until then, for some milliseconds after the start, the command receives no signal but SIGKILL.
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
    ...[env, '--default-signal', '-u', 'PWD', '--'], // bubblewrap overwrites PWD
    ...Object.entries(command.variables).map(([name, value]) => `${name}=${value}`),
    ...startOf(command, bubblewrap),
  ];
  if (argv.length > maxArguments) {
    const most = maxArguments - argv.length + command.argv.length;
    throw spawnFailed('badArgument', `argv has ${command.argv.length} strings; this sandbox allows at most ${most}`);
  }
  return { args: ['--block-signal', bwrap, ...argv], fd3: bubblewrap.filters[network] };
}

function startOf({ file, argv, name }: InnerCommand, { perl }: Bubblewrap): readonly string[] {
  if (name === 'leadsToFile') return argv;
  if (perl !== undefined) return [perl, '-e', renameScript, file, ...argv];
  throw spawnFailed('badArgument', `running "${file}" as "${argv[0]}" in a sandbox needs perl in the server's PATH`);
}

/**
 * A mount that hides a folder is writable only until all mount points inside it exist: through a setting in /proc such as core_pattern,
 * root could make the kernel run a program outside the sandbox.
 */
function mounts(views: ReadonlyMap<string, View>): string[] {
  const hiding = [...views].filter(([path, view]) => view === 'hide' && isFolder(path));
  return [...[...views].flatMap(([path, view]) => mount(path, view)), ...hiding.flatMap(([path]) => ['--remount-ro', path])];
}

function mount(path: string, view: View): string[] {
  switch (view) {
    case 'read':
      return ['--ro-bind', path, path];
    case 'write':
      return ['--bind', path, path];
    case 'hide':
      // Shared memory is not a file: a command gets its own, whatever its policy for files.
      if (path === '/dev') return ['--dev', path, '--tmpfs', '/dev/shm'];
      // /proc/keys lists the keys of the user's session, which are not namespaced.
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

/** Runs a no-op command in a sandbox to find the strictest setup that works. Never rejects. */
export async function tryBubblewrap(path: string | undefined): Promise<Trial> {
  if (process.platform !== 'linux') return fails(`sandboxed commands need Linux and bubblewrap; this is ${process.platform}`);
  const bwrap = programIn(path, 'bwrap');
  if (bwrap === undefined) {
    return fails('bubblewrap is not in PATH: apt install bubblewrap; the package has the same name on other systems');
  }
  const env = programIn(path, 'env');
  if (env === undefined || (await run(env, { args: ['--block-signal', env, '--default-signal'] })).kind !== 'done') {
    return fails('no env in PATH can block signals: install GNU coreutils 8.31 or later');
  }
  const { compileFilter } = await import('./seccomp.js');
  const [none, shared] = [compileFilter(process.arch, 'none'), compileFilter(process.arch, 'shared')];
  if (none === undefined || shared === undefined) {
    return fails(`sandboxed commands need an x64 or arm64 machine; the system calls of ${process.arch} are not known`);
  }
  const perl = programIn(path, 'perl');
  const enclosure: Enclosure = { views: new Map(everywhere), network: 'none', cwd: '/' };
  const command: InnerCommand = { file: env, argv: [env], name: 'leadsToFile', variables: {} };
  let problem = '';
  for (const userNamespace of userNamespaces) {
    const bubblewrap = { bwrap, env, perl, userNamespace, filters: { none, shared } };
    const outcome = await run(env, enclosed(bubblewrap, enclosure, command));
    if (outcome.kind === 'done') return { kind: 'works', bubblewrap };
    if (outcome.kind === 'slow') return fails(`${bwrap} did not finish within ${trialTimeoutMs} ms; try running it by hand`);
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
    return undefined; // missing or not executable: it must be installed either way
  }
}

type Outcome = { readonly kind: 'done' } | { readonly kind: 'slow' } | { readonly kind: 'failed'; readonly problem: string };

/** How long the no-op command may take. */
const trialTimeoutMs = 5_000;

/** Characters of a failed program's stderr that are kept; its first line is reported. */
const maxProblemLength = 4096;

async function run(
  file: string,
  { args, fd3 }: { readonly args: readonly string[]; readonly fd3?: Uint8Array },
): Promise<Outcome> {
  const options = { cwd: '/', env: {}, timeout: trialTimeoutMs, killSignal: 'SIGKILL' } as const;
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
  const third = child.stdio[3];
  if (third instanceof Writable) third.on('error', () => {}).end(fd3); // EPIPE: the program may finish without reading it
  let stderr = '';
  child.stderr?.on('data', (bytes: Buffer) => void (stderr = `${stderr}${bytes.toString()}`.slice(0, maxProblemLength)));
  try {
    await once(child, 'close');
  } catch (error) {
    return { kind: 'failed', problem: String(error) };
  }
  if (child.exitCode === 0) return { kind: 'done' };
  if (child.killed) return { kind: 'slow' };
  return { kind: 'failed', problem: /^.+$/m.exec(stderr)?.[0] ?? `exited with ${child.exitCode ?? child.signalCode}` };
}

/** A fix for what usually keeps bubblewrap from working, the most certain cause first. */
function remedy(): string {
  if (setting('user/max_user_namespaces') === '0') return 'as root: sysctl user.max_user_namespaces=15000';
  if (setting('kernel/unprivileged_userns_clone') === '0') return 'as root: sysctl kernel.unprivileged_userns_clone=1';
  if (setting('kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return 'give bwrap an AppArmor profile with "userns,", or as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0';
  }
  return 'allow it to create namespaces and mount /proc; in a container, with --security-opt seccomp=unconfined and systempaths=unconfined';
}

function setting(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
  } catch {
    return undefined; // not every kernel has every setting
  }
}
