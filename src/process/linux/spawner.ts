// Calls posix_spawn with everything that a child needs. It does not copy the server's page tables, so its cost does not grow with memory.

import { constants } from 'node:os';
import { signalNumber } from '../end/signals.js';
import { isText } from '../start/spawn-failure.js';
import type { Libc } from './libc.js';

const SIG_IGN = 1;
const SETSIGDEF = 0x04;
const SETSIGMASK = 0x08;
const SETSID = 0x80;

/** The child's descriptors 0, 1 and 2; all others except `fd3` are closed. */
export type Stdio =
  | { readonly kind: 'terminal'; readonly path: string }
  | { readonly kind: 'pipes'; readonly stdin: number | undefined; readonly stdout: number; readonly stderr: number };

export interface Execution {
  readonly file: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdio: Stdio;
  /** Our descriptor that becomes the child's descriptor 3. */
  readonly fd3: number | undefined;
}

const O_RDONLY = 0;
const O_RDWR = 2;

export class Spawner {
  readonly #libc: Libc;
  /** posix_spawnattr_t and posix_spawn_file_actions_t are opaque; both are well under these sizes everywhere. */
  readonly #attributes = Buffer.alloc(1024);
  readonly #actions = Buffer.alloc(512);
  readonly #pid = new Int32Array(1);

  /** Children ignore these signals from the start, and so does this program: an ignored signal can only be inherited. */
  constructor(libc: Libc, ignoredSignals: readonly string[]) {
    this.#libc = libc;
    libc.attributesInit(this.#attributes);
    // Node ignores SIGPIPE and may block other signals; a child must start as it would from a shell.
    const reset = Buffer.alloc(128, 0xff);
    for (const number of ignoredSignals.map(signalNumber)) {
      libc.signal(number, SIG_IGN);
      reset[(number - 1) >> 3] = (reset[(number - 1) >> 3] ?? 0) & ~(1 << ((number - 1) & 7));
    }
    libc.setSigDefault(this.#attributes, reset);
    libc.setSigMask(this.#attributes, Buffer.alloc(128, 0));
    libc.setFlags(this.#attributes, SETSID | SETSIGDEF | SETSIGMASK);
  }

  /** Returns the pid of the new session leader, or the name of the errno. */
  spawn(execution: Execution): number | string {
    const { file, argv, cwd, env, stdio, fd3 } = execution;
    const libc = this.#libc;
    const actions = this.#actions;
    libc.actionsInit(actions);
    try {
      libc.addChdir(actions, cwd);
      if (stdio.kind === 'terminal') {
        // The first terminal that a session leader opens becomes its controlling terminal.
        libc.addOpen(actions, 0, stdio.path, O_RDWR, 0);
        libc.addDup2(actions, 0, 1);
        libc.addDup2(actions, 0, 2);
      } else {
        if (stdio.stdin === undefined) libc.addOpen(actions, 0, '/dev/null', O_RDONLY, 0);
        else libc.addDup2(actions, stdio.stdin, 0);
        libc.addDup2(actions, stdio.stdout, 1);
        libc.addDup2(actions, stdio.stderr, 2);
      }
      if (fd3 !== undefined) libc.addDup2(actions, fd3, 3); // last, because 3 may be one of the others
      libc.addCloseFrom?.(actions, fd3 === undefined ? 3 : 4); // the embedding program may have left descriptors inheritable
      const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);
      const call = { actions, attributes: this.#attributes, argv, environment };
      let errno = libc.posix_spawn(this.#pid, file, call);
      if (errno === constants.errno.ENOEXEC && isText(file)) {
        // A script without a #! line: a shell runs it, as execvp and every shell do.
        errno = libc.posix_spawn(this.#pid, '/bin/sh', { ...call, argv: ['sh', file, ...argv.slice(1)] });
      }
      return errno === 0 ? (this.#pid[0] ?? 0) : errnoName(errno);
    } finally {
      libc.actionsDestroy(actions);
    }
  }
}

export function errnoName(errno: number): string {
  return Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
}
