// Spawns children through child_process and node-pty's native part, on macOS and wherever the Linux backend does not load.
// docs/architecture.md lists what it cannot do; the output it reads is as complete as on Linux.

import { spawn } from 'node:child_process';
import { accessSync, existsSync, constants as fsConstants, openSync } from 'node:fs';
import { basename } from 'node:path';
import { Writable } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import type { Size } from '../../protocol/index.js';
import type { Backend, Child, ChildEvents, ResolvedCommand, WaitStatus } from '../child.js';
import { PipeInput, PtyInput } from '../input/child-input.js';
import { PipeOutput } from '../output/pipe-output.js';
import { ReadTurns } from '../output/read-turns.js';
import { FoundTree } from '../end/process-tree.js';
import { PtyOutput } from '../output/pty-output.js';
import { signalName } from '../end/signals.js';
import { errnoOf, findProgram, interpreterOf, spawnFailed, spawnFailureFrom } from '../start/spawn-failure.js';
import { TreeScan } from '../end/tree-scan.js';
import { Watchdog } from '../end/watchdog.js';
import { type ChildParts, WiredChild } from '../start/wired-child.js';
import { type NativePty, loadNodePty } from './node-pty.js';
import { SttyTermios } from './stty.js';

/** Bytes per read from a terminal. The kernel returns at most 4 KiB at a time, and a little more at the end. */
const readBytes = 64 * 1024;

/** Runs a file under another name: exec with the file and its argv[0] given separately. */
const renameScript = 'my $file = shift; exec { $file } @ARGV';

/** An absolute path: the command's PATH must not choose perl, which runs before the sandbox is set up. */
const perl = '/usr/bin/perl';

/** Fills a pipe, makes it descriptor 3, and execs the program: Node leaves no descriptor inheritable for a child that node-pty forks. */
const fd3Script =
  'require POSIX; my ($r, $w) = POSIX::pipe(); my $bytes = pack "H*", shift; POSIX::write($w, $bytes, length $bytes); ' +
  'POSIX::close($w); if ($r != 3) { POSIX::dup2($r, 3); POSIX::close($r) } my $file = shift; exec { $file } @ARGV';

export class PortableBackend implements Backend {
  readonly name = 'portable';
  readonly #finder = new TreeScan();
  readonly #turns = new ReadTurns();
  readonly #clock: Clock;
  readonly #watchdog: Watchdog;
  readonly #readBuffer = Buffer.allocUnsafeSlow(readBytes);
  #nodePty: NativePty | undefined;

  constructor(clock: Clock) {
    if (process.platform === 'win32') throw new Error('Sluice runs processes on Linux and macOS; on Windows run it inside WSL');
    this.#clock = clock;
    this.#watchdog = new Watchdog({ kind: 'groups' }, clock);
  }

  spawn(command: ResolvedCommand, events: ChildEvents): Child {
    this.#watchdog.start();
    // Called in a later turn, when `child` has been assigned.
    const exited = (status: WaitStatus) => {
      this.#watchdog.leaderReaped(child.pid);
      child.leaderReaped(status);
    };
    const parts =
      command.io.kind === 'pty'
        ? this.#forkTerminal(command, command.io, { events, exited })
        : this.#spawnPipes(command, { events, exited });
    this.#watchdog.guard(parts.pid);
    const tree = new FoundTree(this.#finder, { pid: parts.pid, mark: undefined });
    const child = new WiredChild({ ...parts, tree }, events);
    return child;
  }

  async close(): Promise<void> {
    await this.#watchdog.close('left'); // the watchdog knows which groups are not empty
  }

  #spawnPipes(command: ResolvedCommand, { events, exited }: Listeners): Omit<ChildParts, 'tree'> {
    const { file, argv, cwd, env, io, fd3 } = command;
    const isStdinOpen = io.kind === 'pipe' && io.stdin === 'open';
    const child = orSpawnFailure(command, () =>
      spawn(file, argv.slice(1), {
        argv0: argv[0] ?? file,
        cwd,
        env: { ...env },
        detached: true, // leader of its own session and group
        stdio: [isStdinOpen ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(fd3 === undefined ? [] : ['pipe' as const])],
      }),
    );
    const third = child.stdio[3];
    if (third instanceof Writable) third.on('error', () => {}).end(fd3); // EPIPE: the program need not read it
    child.on('error', () => {}); // a failed spawn has no pid and is reported below
    if (child.pid === undefined || child.stdout === null || child.stderr === null)
      throw spawnFailureFrom(guessErrno(file), file, cwd);
    child.on('exit', (code, signal) => exited(signal === null ? { kind: 'code', code: code ?? -1 } : { kind: 'signal', signal }));
    const output = new PipeOutput(events, this.#turns);
    for (const [stream, readable] of [
      ['stdout', child.stdout],
      ['stderr', child.stderr],
    ] as const) {
      const received = output.add(stream, readable);
      readable.on('data', (bytes: Uint8Array) => void (received(bytes) || readable.pause()));
    }
    return { pid: child.pid, input: child.stdin === null ? undefined : new PipeInput(child.stdin), output };
  }

  #forkTerminal(command: ResolvedCommand, size: Size, { events, exited }: Listeners): Omit<ChildParts, 'tree'> {
    this.#nodePty ??= loadNodePty();
    const nodePty = this.#nodePty;
    if (nodePty === undefined) {
      throw spawnFailed('outOfResources', 'no terminals: neither koffi nor @lydell/node-pty has a binary for this machine');
    }
    const errno = guessErrno(command.file);
    if (errno !== 'EAGAIN') throw spawnFailureFrom(errno, command.file, command.cwd);
    const { file, args } = command.fd3 === undefined ? renamed(command) : withFd3(command, command.fd3);
    const env = Object.entries(command.env).map(([name, value]) => `${name}=${value}`);
    const { cwd } = command;
    const onExit = (code: number, signal: number) => exited(waitStatus(code, signal));
    const { fd, pid, path } = orSpawnFailure(command, () =>
      nodePty.fork({ file, args, env, cwd, rows: size.rows, cols: size.cols, exited: onExit }),
    );
    const slave = openSync(path, fsConstants.O_RDWR | fsConstants.O_NOCTTY | fsConstants.O_NONBLOCK);
    const output = new PtyOutput({ master: fd, slave }, events, { clock: this.#clock, readBuffer: this.#readBuffer });
    const input = new PtyInput(fd, { clock: this.#clock, termios: new SttyTermios(path) });
    output.onActivity(() => input.poke());
    return { pid, input, output, resize: ({ rows, cols }) => nodePty.resize(fd, cols, rows) };
  }
}

interface Listeners {
  readonly events: ChildEvents;
  readonly exited: (status: WaitStatus) => void;
}

function orSpawnFailure<T>(command: ResolvedCommand, start: () => T): T {
  try {
    return start();
  } catch (error) {
    throw spawnFailureFrom(errnoOf(error) ?? String(error), command.file, command.cwd);
  }
}

/** node-pty always uses the file as argv[0]; another name needs an additional exec. */
function renamed({ file, argv, cwd, env }: ResolvedCommand): { file: string; args: readonly string[] } {
  const [name, ...args] = argv;
  if (name === undefined || basename(name) === basename(file)) return { file, args };
  try {
    return { file: findProgram('perl', cwd, env['PATH']), args: ['-e', renameScript, file, ...argv] };
  } catch (error) {
    throw spawnFailed(
      'badArgument',
      `running "${file}" as "${name}" on a terminal needs perl in PATH on this machine; omit arg0`,
      error,
    );
  }
}

function withFd3({ file, argv }: ResolvedCommand, bytes: Uint8Array): { file: string; args: readonly string[] } {
  if (!existsSync(perl)) throw spawnFailed('badArgument', `a terminal with fd3 or a sandbox needs ${perl} on this machine`);
  return { file: perl, args: ['-e', fd3Script, Buffer.from(bytes).toString('hex'), file, ...argv] };
}

/** child_process reports the errno only later. The file is executable, so either its interpreter or a resource must be missing. */
function guessErrno(file: string): string {
  const interpreter = interpreterOf(file);
  if (interpreter === undefined) return 'EAGAIN';
  if (!existsSync(interpreter)) return 'ENOENT';
  try {
    accessSync(interpreter, fsConstants.X_OK);
    return 'EAGAIN';
  } catch {
    return 'EACCES';
  }
}

function waitStatus(code: number, signal: number): WaitStatus {
  return signal === 0 ? { kind: 'code', code } : { kind: 'signal', signal: signalName(signal) };
}
