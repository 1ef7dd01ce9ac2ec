// The few libc functions for processes that Node does not offer, called through koffi.

import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { loadKoffi } from '../../native/koffi.js';

export interface Libc {
  pipe2(fds: Int32Array, flags: number): number;
  ioctl(fd: number, request: number, argumentType: 'void *', argument: Uint8Array): number;
  unlockpt(fd: number): number;
  ptsname_r(fd: number, name: Uint8Array, length: number): number;
  wait4(pid: number, status: Int32Array, options: number, usage: Uint8Array): number;
  waitid(idType: number, id: number, info: Uint8Array, options: number): number;
  getrlimit(resource: number, limit: BigUint64Array): number;
  setrlimit(resource: number, limit: BigUint64Array): number;
  prctl(option: number, argument: number): number;
  /** For options that return a value. */
  prctlGet(option: number, value: Int32Array): number;
  /** Works for zombies too. */
  getsid(pid: number): number;
  /** Unlike the others, returns the errno itself. */
  posix_spawn(pid: Int32Array, file: string, call: SpawnCall): number;
  actionsInit(actions: Uint8Array): number;
  actionsDestroy(actions: Uint8Array): number;
  addOpen(actions: Uint8Array, fd: number, path: string, flags: number, mode: number): number;
  addDup2(actions: Uint8Array, from: number, to: number): number;
  addChdir(actions: Uint8Array, path: string): number;
  /** Absent before glibc 2.34 and on musl. */
  addCloseFrom: ((actions: Uint8Array, from: number) => number) | undefined;
  attributesInit(attributes: Uint8Array): number;
  setFlags(attributes: Uint8Array, flags: number): number;
  setSigDefault(attributes: Uint8Array, set: Uint8Array): number;
  setSigMask(attributes: Uint8Array, set: Uint8Array): number;
  /** Absent on musl. */
  mallopt: ((parameter: number, value: number) => number) | undefined;
  /** Absent on musl. */
  malloc_trim: ((keptBytes: number) => number) | undefined;
  /** Returns the previous handler: an address, or one of the small constants of signal.h. */
  signal(number: number, handler: number): number;
  /** Of the last call. */
  errno(): number;
}

export interface SpawnCall {
  readonly actions: Uint8Array;
  readonly attributes: Uint8Array;
  readonly argv: readonly string[];
  /** NAME=value */
  readonly environment: readonly string[];
}

/** Architectures on which the kernel uses the generic constants of this folder. */
const knownMachines = new Set(['x64', 'arm64', 'arm', 'ia32', 'riscv64', 'loong64']);

/** libc, or undefined where koffi or one of the functions is missing, and in worker threads, which see no SIGCHLD. */
export function loadLibc(): Libc | undefined {
  if (process.platform !== 'linux' || !knownMachines.has(process.arch) || !isMainThread) return undefined;
  if (!existsSync('/proc/self/stat')) return undefined; // where the Linux backend finds the members of a tree
  const koffi = loadKoffi();
  if (koffi === undefined) return undefined;
  try {
    return bind(koffi);
  } catch {
    return undefined; // libc is too old: the portable backend is used instead
  }
}

function bind(koffi: NonNullable<ReturnType<typeof loadKoffi>>): Libc {
  const libc = koffi.load(null); // the program itself, which works for glibc and musl alike
  const spawn = libc.func(
    'int posix_spawn(_Out_ int *pid, const char *file, void *fa, void *attr, const char **argv, const char **envp)',
  );
  const prctl = libc.func('int prctl(int option, unsigned long, unsigned long, unsigned long, unsigned long)');
  const prctlGet = libc.func('int prctl(int option, _Out_ int *value, unsigned long, unsigned long, unsigned long)');
  const optional = (definition: string) => {
    try {
      return libc.func(definition);
    } catch {
      return undefined;
    }
  };
  return {
    pipe2: libc.func('int pipe2(_Out_ int *fds, int flags)'),
    ioctl: libc.func('int ioctl(int fd, unsigned long request, ...)'),
    unlockpt: libc.func('int unlockpt(int fd)'),
    ptsname_r: libc.func('int ptsname_r(int fd, _Out_ uint8_t *name, size_t length)'),
    wait4: libc.func('int wait4(int pid, _Out_ int *status, int options, _Out_ uint8_t *usage)'),
    waitid: libc.func('int waitid(int idtype, uint32_t id, _Out_ uint8_t *info, int options)'),
    getrlimit: libc.func('int getrlimit(int resource, _Out_ uint64_t *limit)'),
    setrlimit: libc.func('int setrlimit(int resource, const uint64_t *limit)'),
    getsid: libc.func('int getsid(int pid)'),
    prctlGet: (option, value) => Number(prctlGet(option, value, 0, 0, 0)),
    prctl: (option, argument) => Number(prctl(option, argument, 0, 0, 0)),
    posix_spawn: (pid, file, { actions, attributes, argv, environment }) =>
      Number(spawn(pid, file, actions, attributes, [...argv, null], [...environment, null])),
    actionsInit: libc.func('int posix_spawn_file_actions_init(void *fa)'),
    actionsDestroy: libc.func('int posix_spawn_file_actions_destroy(void *fa)'),
    addOpen: libc.func('int posix_spawn_file_actions_addopen(void *fa, int fd, const char *path, int flags, uint mode)'),
    addDup2: libc.func('int posix_spawn_file_actions_adddup2(void *fa, int from, int to)'),
    addChdir: libc.func('int posix_spawn_file_actions_addchdir_np(void *fa, const char *path)'),
    addCloseFrom: optional('int posix_spawn_file_actions_addclosefrom_np(void *fa, int from)'),
    attributesInit: libc.func('int posix_spawnattr_init(void *attr)'),
    setFlags: libc.func('int posix_spawnattr_setflags(void *attr, short flags)'),
    setSigDefault: libc.func('int posix_spawnattr_setsigdefault(void *attr, void *set)'),
    setSigMask: libc.func('int posix_spawnattr_setsigmask(void *attr, void *set)'),
    mallopt: optional('int mallopt(int parameter, int value)'),
    malloc_trim: optional('int malloc_trim(size_t pad)'),
    signal: libc.func('intptr_t signal(int number, intptr_t handler)'),
    errno: () => koffi.errno(),
  };
}
