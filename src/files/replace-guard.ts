// Removes temporary files if this program is killed. A shell that briefly outlives it reads their names from a pipe that only this program
// holds open, and at end-of-file removes those that are left. It starts with the first name; a program without any starts none.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { FileError } from './file-error.js';
import { type NativePath, bytesOf } from './native-path.js';
import type { TemporaryNames } from './staging.js';

/**
 * A name comes as three octal digits for each of its bytes, so that no byte has a meaning for the shell. The x keeps newlines at the end of a
 * name, which a command substitution drops. A signal to the whole terminal or group must not end the shell too.
 */
const script = `trap '' HUP INT TERM QUIT PIPE; cd /
names=" $1 "
while read -r sign name; do
  case $sign in
    +) names="$names$name ";;
    -) case $names in *" $name "*) names="\${names%%" $name "*} \${names#*" $name "}";; esac;;
  esac
done
for name in $names; do
  file=$(printf '%bx' "$(echo "$name" | sed 's/.../\\\\0&/g')")
  rm -f -- "\${file%x}"
done`;

/** Shells started one after the other for the same names, so that one that cannot run does not keep a core busy. */
const mostRestarts = 5;

type Shell = ChildProcessByStdio<Writable, null, null>;

/** One per server. */
export class ReplaceGuard implements TemporaryNames {
  /** In the shell's form. */
  readonly #names = new Set<string>();
  #shell: Shell | undefined;
  #restarts = 0;
  #isClosed = false;

  /** Of the shell, while it runs. */
  get pid(): number | undefined {
    return this.#shell?.pid;
  }

  /** Throws if the shell cannot start: no temporary file may exist unguarded. */
  add(path: NativePath): void {
    const name = octalDigits(path);
    this.#names.add(name);
    this.#restarts = 0;
    try {
      if (this.#shell === undefined) this.#start();
      else this.#say(`+ ${name}\n`);
    } catch (error) {
      this.#names.delete(name);
      throw error;
    }
  }

  remove(path: NativePath): void {
    const name = octalDigits(path);
    if (this.#names.delete(name)) this.#say(`- ${name}\n`);
  }

  /** Resolves when the shell has exited. Removes the files whose names are left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const shell = this.#shell;
    if (shell === undefined) return;
    const ended = new Promise((resolve) => shell.once('exit', resolve));
    shell.ref();
    shell.kill('SIGCONT'); // it may have been stopped
    shell.stdin.end();
    await ended;
  }

  #say(line: string): void {
    const shell = this.#shell;
    if (shell === undefined || this.#isClosed) return;
    shell.stdin.write(line);
    // The pipe takes thousands of names. A shell that has not read them is stopped, and a new one gets the names as an argument.
    if (shell.stdin.writableLength === 0) return;
    shell.kill('SIGKILL');
    this.#shell = undefined;
    this.#start();
  }

  #start(): void {
    if (this.#isClosed) throw new FileError('failed', 'no file can be replaced any more: the server is closing');
    const shell = spawn('/bin/sh', ['-c', script, 'sluice-replace-guard', [...this.#names].join(' ')], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true, // its own session, so it gets no signals from a terminal
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    });
    shell.on('error', () => {}); // the missing pid says it now
    if (shell.pid === undefined) {
      throw new FileError('failed', 'cannot start the shell that guards temporary files: out of processes or descriptors');
    }
    this.#shell = shell;
    shell.unref();
    if (shell.stdin instanceof Socket) shell.stdin.unref();
    shell.stdin.on('error', () => {}); // 'exit' follows
    shell.on('exit', () => {
      if (this.#shell !== shell) return;
      this.#shell = undefined;
      this.#restart();
    });
  }

  /** The shell ended, although `close` was not called. */
  #restart(): void {
    if (this.#names.size === 0 || this.#isClosed || this.#restarts === mostRestarts) return;
    this.#restarts += 1;
    try {
      this.#start();
    } catch {
      // The next name tries again, and says so if it fails.
    }
  }
}

function octalDigits(path: NativePath): string {
  return Array.from(bytesOf(path), (byte) => byte.toString(8).padStart(3, '0')).join('');
}
