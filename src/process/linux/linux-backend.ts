// Spawns children through libc: posix_spawn, real pipes, /dev/ptmx. Needs no thread per process; the cost does not grow with the
// server's memory.

import { closeSync, constants as fsConstants, openSync, writeSync } from 'node:fs';
import { type ConnectOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { Size } from '../../protocol/index.js';
import type { Backend, BackendOptions, Child, ChildEvents, ProgramSettings, ResolvedCommand } from '../child.js';
import { PipeInput, PtyInput } from '../input/child-input.js';
import { PipeOutput } from '../output/pipe-output.js';
import { type ProcEntry, hasChildrenFiles } from '../end/proc-files.js';
import { FoundTree, type TreeFinder } from '../end/process-tree.js';
import { PtyOutput } from '../output/pty-output.js';
import { ReadTurns } from '../output/read-turns.js';
import { Slices } from '../end/slices.js';
import { errnoOf, spawnFailed, spawnFailureFrom } from '../start/spawn-failure.js';
import { TreeScan } from '../end/tree-scan.js';
import { type Quarry, Watchdog } from '../end/watchdog.js';
import { type ChildParts, WiredChild } from '../start/wired-child.js';
import type { Libc } from './libc.js';
import { Lineage } from './lineage.js';
import { Orphans } from './orphans.js';
import { Reaper } from './reaper.js';
import { type Execution, Spawner, type Stdio, errnoName } from './spawner.js';
import { LinuxTermios } from './termios.js';
import { TreeWalk } from './tree-walk.js';

const O_CLOEXEC = 0o2000000;
const TIOCSWINSZ = 0x5414;
const PR_SET_CHILD_SUBREAPER = 36;
const PR_GET_CHILD_SUBREAPER = 37;

/** Longest that following trees may block the event loop in one turn, in milliseconds: thousands of trees may be ended at once. */
const sliceMs = 1;

/** Bytes per read: a chunk's size, and a pipe's default capacity. All children share one buffer, since reads are copied immediately. */
const readBytes = 64 * 1024;

interface Wiring {
  readonly stdio: Stdio;
  /** Descriptors that only the child needs. */
  readonly childFds: readonly number[];
  /** Takes ownership of our descriptors. */
  readonly connect: (events: ChildEvents) => Omit<ChildParts, 'pid' | 'tree'>;
  /** Our descriptors, to be closed when the spawn fails. */
  readonly ownFds: readonly number[];
}

export class LinuxBackend implements Backend {
  readonly name = 'linux';
  readonly #libc: Libc;
  readonly #clock: Clock;
  readonly #spawner: Spawner;
  readonly #reaper: Reaper;
  readonly #lineage: Lineage | undefined;
  readonly #watchdog: Watchdog;
  readonly #finder: TreeFinder;
  readonly #turns = new ReadTurns();
  readonly #readBuffer = Buffer.allocUnsafeSlow(readBytes);

  constructor(libc: Libc, { clock, orphans, ignoredSignals = [] }: BackendOptions) {
    this.#libc = libc;
    this.#clock = clock;
    this.#spawner = new Spawner(libc, ignoredSignals);
    this.#reaper = new Reaper(libc, clock);
    this.#lineage = Lineage.create(libc);
    const quarry: Quarry = this.#lineage === undefined ? { kind: 'groups' } : { kind: 'marked', prefix: this.#lineage.prefix };
    this.#watchdog = new Watchdog(quarry, clock);
    this.#finder = this.#followTrees(orphans);
  }

  spawn(command: ResolvedCommand, events: ChildEvents): Child {
    this.#watchdog.start();
    const wiring = command.io.kind === 'pty' ? this.#openTerminal(command.io) : this.#openPipes(command.io.stdin === 'open');
    const fd3 = command.fd3 === undefined ? undefined : this.#filledPipe(command.fd3, wiring);
    const spawned = this.#spawnMarked({ ...command, stdio: wiring.stdio, fd3 });
    wiring.childFds.forEach((fd) => closeSync(fd));
    if (fd3 !== undefined) closeSync(fd3);
    const pid = spawned.result;
    if (typeof pid === 'string') {
      wiring.ownFds.forEach((fd) => closeSync(fd));
      throw spawnFailureFrom(pid, command.file, command.cwd);
    }
    if (this.#lineage === undefined) this.#watchdog.guard(pid);
    const tree = new FoundTree(this.#finder, { pid, mark: spawned.mark });
    const child = new WiredChild({ pid, tree, ...wiring.connect(events) }, events);
    this.#reaper.watch(pid, (status) => {
      this.#watchdog.leaderReaped(pid);
      child.leaderReaped(status);
    });
    return child;
  }

  /** A separate method, so that no closure that lives as long as the child retains its environment. */
  #spawnMarked(execution: Execution): { readonly result: number | string; readonly mark: string | undefined } {
    const spawn = () => this.#spawner.spawn(execution);
    return this.#lineage?.marked(spawn) ?? { result: spawn(), mark: undefined };
  }

  returnFreePages(): void {
    this.#libc.malloc_trim?.(0);
  }

  async close(): Promise<void> {
    const isGone = this.#reaper.isIdle && !this.#finder.isAnyLeft();
    this.#reaper.close();
    await this.#watchdog.close(isGone ? 'gone' : 'left');
  }

  /** Decides how trees are found and whether this program adopts orphans. */
  #followTrees(wanted: ProgramSettings['orphans']): TreeFinder {
    const { prefix = 'none' } = this.#lineage ?? {};
    const isTooOld = (entry: ProcEntry) => this.#lineage?.isTooOld(entry) ?? true;
    if (!hasChildrenFiles()) {
      return new TreeScan({ marks: { prefix, isTooOld, mayCarry: ({ ppid }) => ppid !== process.pid || process.pid === 1 } });
    }
    if (wanted === 'adopt') this.#libc.prctl(PR_SET_CHILD_SUBREAPER, 1);
    const setting = new Int32Array(1);
    this.#libc.prctlGet(PR_GET_CHILD_SUBREAPER, setting); // another part of this program may have set it
    const adopts = process.pid === 1 || setting[0] === 1;
    const isStarted = (pid: number) => this.#reaper.isWatched(pid) || this.#watchdog.pid === pid;
    const slices = new Slices(sliceMs);
    const sessionOf = (pid: number) => this.#libc.getsid(pid);
    const found = new Orphans({ adopts, prefix, isStarted, isTooOld, sessionOf, slices });
    if (adopts) this.#reaper.adopt(found);
    return new TreeWalk(found, slices);
  }

  #openPipes(isStdinOpen: boolean): Wiring {
    const opened: number[] = [];
    const pipe = (): [number, number] => {
      const fds = this.#pipe(opened);
      opened.push(...fds);
      return fds;
    };
    const [ownStdout, stdout] = pipe();
    const [ownStderr, stderr] = pipe();
    const [stdin, ownStdin] = isStdinOpen ? pipe() : [undefined, undefined];
    return {
      stdio: { kind: 'pipes', stdin, stdout, stderr },
      childFds: stdin === undefined ? [stdout, stderr] : [stdout, stderr, stdin],
      ownFds: ownStdin === undefined ? [ownStdout, ownStderr] : [ownStdout, ownStderr, ownStdin],
      connect: (events) => {
        const output = new PipeOutput(events, this.#turns);
        this.#readPipe(output, 'stdout', ownStdout);
        this.#readPipe(output, 'stderr', ownStderr);
        const input =
          ownStdin === undefined ? undefined : new PipeInput(new Socket({ fd: ownStdin, readable: false, writable: true }));
        return { input, output };
      },
    };
  }

  /** Returns the reading and the writing end. On failure, closes what the caller has opened for the same child. */
  #pipe(opened: readonly number[]): [number, number] {
    const fds = new Int32Array(2);
    if (this.#libc.pipe2(fds, O_CLOEXEC) !== 0) {
      const errno = errnoName(this.#libc.errno());
      opened.forEach((fd) => closeSync(fd));
      throw spawnFailed('outOfResources', `cannot create a pipe: ${errno}`);
    }
    return [fds[0] ?? -1, fds[1] ?? -1];
  }

  /** The reading end of a pipe that holds these bytes followed by end-of-file. They are few enough to fit into the pipe at once. */
  #filledPipe(bytes: Uint8Array, { childFds, ownFds }: Wiring): number {
    const [reading, writing] = this.#pipe([...childFds, ...ownFds]);
    writeSync(writing, bytes);
    closeSync(writing);
    return reading;
  }

  #readPipe(output: PipeOutput, stream: 'stdout' | 'stderr', fd: number): void {
    let received: (bytes: Uint8Array) => boolean = () => true;
    const options: SocketConstructorOpts & ConnectOpts = {
      fd,
      readable: true,
      writable: false,
      onread: { buffer: this.#readBuffer, callback: (length, buffer) => received(buffer.subarray(0, length)) },
    };
    const socket = new Socket(options);
    received = output.add(stream, socket);
    socket.resume();
  }

  #openTerminal(size: Size): Wiring {
    const flags = fsConstants.O_RDWR | fsConstants.O_NOCTTY | fsConstants.O_NONBLOCK;
    const opened: number[] = [];
    try {
      const master = openSync('/dev/ptmx', flags);
      opened.push(master);
      const name = Buffer.alloc(128);
      if (this.#libc.unlockpt(master) !== 0 || this.#libc.ptsname_r(master, name, name.length) !== 0) {
        throw spawnFailed('outOfResources', `cannot open a terminal: ${errnoName(this.#libc.errno())}`);
      }
      const path = name.toString('latin1', 0, name.indexOf(0));
      const slave = openSync(path, flags);
      opened.push(slave);
      const resize = (to: Size) => this.#setSize(master, to);
      resize(size);
      return {
        stdio: { kind: 'terminal', path },
        childFds: [],
        ownFds: opened,
        connect: (events) => {
          const output = new PtyOutput({ master, slave }, events, { clock: this.#clock, readBuffer: this.#readBuffer });
          const input = new PtyInput(master, { clock: this.#clock, termios: new LinuxTermios(this.#libc, master) });
          output.onActivity(() => input.poke());
          return { input, output, resize };
        },
      };
    } catch (error) {
      opened.forEach((fd) => closeSync(fd));
      const errno = errnoOf(error);
      throw errno === undefined ? error : spawnFailed('outOfResources', `cannot open a terminal: ${errno}`, error);
    }
  }

  #setSize(master: number, { rows, cols }: Size): void {
    const winsize = Buffer.alloc(8);
    winsize.writeUInt16LE(rows, 0);
    winsize.writeUInt16LE(cols, 2);
    this.#libc.ioctl(master, TIOCSWINSZ, 'void *', winsize);
  }
}
