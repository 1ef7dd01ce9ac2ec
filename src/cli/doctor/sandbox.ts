// Whether bubblewrap can shut a command in here.

import { execFile } from 'node:child_process';
import { type Finding, type ReadText, readText } from './finding.js';

const program = 'bwrap';
const lost = 'sandboxed commands will be refused';

export async function sandbox(): Promise<Finding> {
  if (process.platform !== 'linux') return { state: 'ok', found: `bubblewrap is for Linux: ${lost}` };
  const run = await bubblewrap(['--ro-bind', '/', '/', '--unshare-net', 'true']);
  switch (run.kind) {
    case 'missing':
      return {
        state: 'warning',
        found: `bubblewrap is not installed: ${lost}`,
        remedy: 'apt install bubblewrap; other systems have it under the same name',
      };
    case 'failed':
      return { state: 'warning', found: `bubblewrap does not work: ${lost} (${run.problem})`, remedy: namespaceRemedy(readText) };
    case 'done': {
      const version = await bubblewrap(['--version']);
      return { state: 'ok', found: version.kind === 'done' ? `${version.stdout.trim()} works` : 'bubblewrap works' };
    }
  }
}

type Run =
  | { readonly kind: 'missing' }
  | { readonly kind: 'done'; readonly stdout: string }
  | { readonly kind: 'failed'; readonly problem: string };

/** Longest it may take to do nothing. */
const runMs = 5_000;

async function bubblewrap(args: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: runMs, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      if (error === null) resolve({ kind: 'done', stdout });
      // The other one is said when a folder in PATH is closed to this user.
      else if (error.code === 'ENOENT' || error.code === 'EACCES') resolve({ kind: 'missing' });
      else resolve({ kind: 'failed', problem: /^.+$/m.exec(stderr)?.[0] ?? error.message });
    });
  });
}

/** What usually keeps an ordinary user from making namespaces, in the order of how surely it does. */
export function namespaceRemedy(read: ReadText): string {
  const setting = (name: string) => read(`/proc/sys/${name}`)?.trim();
  if (setting('user/max_user_namespaces') === '0') return 'as root: sysctl user.max_user_namespaces=15000';
  if (setting('kernel/unprivileged_userns_clone') === '0') return 'as root: sysctl kernel.unprivileged_userns_clone=1';
  if (setting('kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return 'AppArmor keeps ordinary programs from making user namespaces: give bwrap a profile with "userns,", or as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0';
  }
  return 'the kernel refuses user namespaces: in a container, allow them, as with --security-opt seccomp=unconfined';
}
