// Uses only the native part of node-pty: its own reader loses the end of the output, ours does not.
// The only file that knows the package.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface NativePty {
  /** Forks a session leader on a new terminal. `exited` gets the exit code, and the signal number or 0. */
  fork(command: {
    file: string;
    args: readonly string[];
    env: readonly string[];
    cwd: string;
    rows: number;
    cols: number;
    exited: (code: number, signal: number) => void;
  }): { fd: number; pid: number; path: string };
  resize(fd: number, cols: number, rows: number): void;
}

interface Package {
  readonly native: {
    fork(
      ...args: [
        string,
        readonly string[],
        readonly string[],
        string,
        number,
        number,
        number,
        number,
        boolean,
        string,
        (code: number, signal: number) => void,
      ]
    ): { fd: number; pid: number; pty: string };
    resize(...args: [number, number, number, number, number]): void;
  };
}

/** Undefined where the package has no binary for this machine. */
export function loadNodePty(): NativePty | undefined {
  // The packaged Linux binary is for glibc; on musl it loads and then crashes at the first fork.
  if (process.platform === 'linux' && !hasGlibc()) return undefined;
  const require = createRequire(import.meta.url);
  try {
    // oxlint-disable-next-line typescript/no-unsafe-assignment -- createRequire is untyped, and so is the native part
    const { native }: Package = require('@lydell/node-pty');
    const helper = helperPath(createRequire(require.resolve('@lydell/node-pty')));
    return {
      fork({ file, args, env, cwd, rows, cols, exited }) {
        const { fd, pid, pty } = native.fork(file, args, env, cwd, cols, rows, -1, -1, false, helper, exited);
        return { fd, pid, path: pty };
      },
      resize: (fd, cols, rows) => native.resize(fd, cols, rows, 0, 0),
    };
  } catch {
    return undefined; // not installed for this machine: starting a terminal then fails with that reason
  }
}

/** On macOS a helper program from the package runs the last steps between fork and exec. */
function helperPath(require: NodeJS.Require): string {
  const machine = `${process.platform}-${process.arch}`;
  return process.platform === 'darwin'
    ? join(dirname(require.resolve(`@lydell/node-pty-${machine}`)), '..', 'prebuilds', machine, 'spawn-helper')
    : '';
}

function hasGlibc(): boolean {
  const report: unknown = process.report?.getReport();
  const header = typeof report === 'object' && report !== null && 'header' in report ? report.header : undefined;
  return typeof header === 'object' && header !== null && 'glibcVersionRuntime' in header;
}
