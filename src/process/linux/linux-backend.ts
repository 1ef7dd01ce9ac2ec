// Children over libc: posix_spawn, real pipes, /dev/ptmx. No thread per process; cost independent of the server's memory.

import { closeSync, constants as fsConstants, openSync } from 'node:fs';
import { type ConnectOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { Size } from '../../protocol/index.js';
import type { Backend, Child, ChildEvents, ResolvedCommand } from '../child.js';
import { PipeInput, PtyInput } from '../child-input.js';
import { PipeOutput } from '../pipe-output.js';
import { ProcTableReader } from '../proc-table.js';
import { MarkedTree } from '../process-tree.js';
import { PtyOutput } from '../pty-output.js';
import { ReadTurns } from '../read-turns.js';
import { errnoOf, spawnFailed, spawnFailureFrom } from '../spawn-failure.js';
import { type Quarry, Watchdog } from '../watchdog.js';
import { type ChildParts, WiredChild } from '../wired-child.js';
import type { Libc } from './libc.js';
import { Lineage } from './lineage.js';
import { Reaper } from './reaper.js';
import { Spawner, type Stdio, errnoName } from './spawner.js';

const O_CLOEXEC = 0o2000000;
const TIOCSWINSZ = 0x5414;

/** Bytes read at a time: a chunk's size, and what a pipe holds by default. One buffer serves every child, since reads are copied at once. */
const readBytes = 64 * 1024;

interface Wiring {
  readonly stdio: Stdio;
  /** Descriptors that only the child needs. */
  readonly childFds: readonly number[];
  /** Takes over our own descriptors. */
  readonly connect: (events: ChildEvents) => Omit<ChildParts, 'pid' | 'tree'>;
  /** Frees our own descriptors when there is no child. */
  readonly ownFds: readonly number[];
}

export class LinuxBackend implements Backend {
  readonly name = 'linux';
  readonly procs = new ProcTableReader();
  readonly #libc: Libc;
  readonly #clock: Clock;
  readonly #spawner: Spawner;
  readonly #reaper: Reaper;
  readonly #lineage: Lineage | undefined;
  readonly #watchdog: Watchdog;
  readonly #turns = new ReadTurns();
  readonly #readBuffer = Buffer.allocUnsafeSlow(readBytes);

  constructor(libc: Libc, clock: Clock, ignoredSignals: readonly string[] = []) {
    this.#libc = libc;
    this.#clock = clock;
    this.#spawner = new Spawner(libc, ignoredSignals);
    this.#reaper = new Reaper(libc, clock);
    this.#lineage = Lineage.create(libc);
    const quarry: Quarry = this.#lineage === undefined ? { kind: 'groups' } : { kind: 'marked', prefix: this.#lineage.prefix };
    this.#watchdog = new Watchdog(quarry, clock);
  }

  spawn(command: ResolvedCommand, events: ChildEvents): Child {
    this.#watchdog.start();
    const wiring = command.io.kind === 'pty' ? this.#openTerminal(command.io) : this.#openPipes(command.io.stdin === 'open');
    const execution = { ...command, stdio: wiring.stdio };
    const spawned = this.#lineage?.marked(() => this.#spawner.spawn(execution)) ?? {
      result: this.#spawner.spawn(execution),
      isMarked: () => false,
    };
    wiring.childFds.forEach((fd) => closeSync(fd));
    const pid = spawned.result;
    if (typeof pid === 'string') {
      wiring.ownFds.forEach((fd) => closeSync(fd));
      throw spawnFailureFrom(pid, command.file, command.cwd);
    }
    if (this.#lineage === undefined) this.#watchdog.guard(pid);
    const tree = new MarkedTree(pid, this.procs, spawned.isMarked);
    const child = new WiredChild({ pid, tree, ...wiring.connect(events) }, events);
    this.#reaper.watch(pid, (status) => {
      this.#watchdog.leaderReaped(pid);
      child.leaderReaped(status);
    });
    return child;
  }

  async close(): Promise<void> {
    this.#reaper.close();
    await this.#watchdog.close();
  }

  #openPipes(isStdinOpen: boolean): Wiring {
    const opened: number[] = [];
    const pipe = (): [number, number] => {
      const fds = new Int32Array(2);
      if (this.#libc.pipe2(fds, O_CLOEXEC) !== 0) {
        const errno = errnoName(this.#libc.errno());
        opened.forEach((fd) => closeSync(fd));
        throw spawnFailed('outOfResources', `no pipe for the process: ${errno}`);
      }
      opened.push(...fds);
      return [fds[0] ?? -1, fds[1] ?? -1];
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
        throw spawnFailed('outOfResources', `no terminal for the process: ${errnoName(this.#libc.errno())}`);
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
          const input = new PtyInput(master, this.#clock);
          output.onActivity(() => input.poke());
          return { input, output, resize };
        },
      };
    } catch (error) {
      opened.forEach((fd) => closeSync(fd));
      const errno = errnoOf(error);
      throw errno === undefined ? error : spawnFailed('outOfResources', `no terminal for the process: ${errno}`, error);
    }
  }

  #setSize(master: number, { rows, cols }: Size): void {
    const winsize = Buffer.alloc(8);
    winsize.writeUInt16LE(rows, 0);
    winsize.writeUInt16LE(cols, 2);
    this.#libc.ioctl(master, TIOCSWINSZ, 'void *', winsize);
  }
}
