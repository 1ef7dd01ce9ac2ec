// Starts, finds and lists processes over any ExecLink. Does not know whether there is a wire.

import { type Clock, systemClock } from '../base/clock.js';
import {
  type EnvPolicy,
  type EnvironmentInfo,
  type Io,
  type ListeningPort,
  type PreparedSpec,
  type ProcessStatus,
  asProcessId,
} from '../protocol/index.js';
import { checkOptions } from '../protocol/read-params.js';
import { inheritance } from './environment.js';
import { type ExecOptions, type PendingExec, execCommand } from './exec.js';
import { type ClientEvents, EventFeeds, type EventsOptions } from './event-feed.js';
import type { ExecLink } from './exec-link.js';
import { type Forward, type ForwardOptions, openForward } from './forward.js';
import { Files } from './files.js';
import { startOptions } from './option-checks.js';
import type { Platform } from './platform.js';
import { ProcessHandle } from './process-handle.js';
import { type PortEvent, PortFeed } from './port-feed.js';
import { type RunOptions, type RunResult, runCommand } from './run.js';
import { type RemoteAddress, type Tunnel, openTunnel } from './tunnel.js';

export interface StartOptions {
  /** Program and arguments. Give this or `prepared`. */
  readonly argv?: readonly string[];
  /** A resolved command, spawned exactly as given. */
  readonly prepared?: PreparedSpec;
  /** Absolute path or file: URI; the server's folder when absent. */
  readonly cwd?: string;
  /** Added to the variables that the process inherits; overrides those of the same name. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * What the process inherits from its server. The core variables when absent: PATH, SHELL, TMPDIR, TEMP, TMP, HOME, LANG,
   * LC_ALL, LC_CTYPE, LOGNAME and USER. With `{ inherit: 'none' }`, `env` is the whole environment.
   */
  readonly envPolicy?: EnvPolicy;
  /** Pipes with stdin closed when absent. */
  readonly io?: Io;
  /** What the program sees as its own name. */
  readonly arg0?: string;
  /** Ends the process after this long, with reason `timedOut`. */
  readonly timeoutMs?: number;
  /** Ends the process after this long without output, with reason `idleTimedOut`. */
  readonly idleTimeoutMs?: number;
  /**
   * Grace between SIGTERM and SIGKILL whenever the process is terminated; the server's default when absent. At most 4 s when the process
   * is terminated because its client, session or server ends.
   */
  readonly forceAfterMs?: number;
  /** Arbitrary data of the caller, shown by `list`. */
  readonly metadata?: Record<string, unknown>;
  /** Whether the server keeps what `restart` needs, including the environment; false when absent. */
  readonly restartable?: boolean;
  /** An id chosen by the caller; a random one when absent. */
  readonly id?: string;
}

export interface AttachOptions {
  /** Session that owns the process, as shown by `list`; this client's own when absent. */
  readonly sessionId?: string;
  /** `drive` may write, resize, signal and terminate; `watch` may only read. `watch` when absent. */
  readonly role?: 'watch' | 'drive';
  /** Replay the retained output after this number, then continue live; from the beginning when absent. */
  readonly afterSeq?: number;
  /** Bytes up to and including `afterSeq`, taken from a page's `nextBytes`; makes `droppedBytes` exact. */
  readonly afterBytes?: number;
  /** false: receive no output and use only the other methods of the handle. */
  readonly follow?: boolean;
}

export interface RestartOptions {
  /** Session that owns the process, as returned by `release` and `list`. */
  readonly sessionId?: string | undefined;
  /** Grace between SIGTERM and SIGKILL; the one the process was started with when absent. */
  readonly forceAfterMs?: number | undefined;
}

export interface ListOptions {
  /** `all` includes the processes of the caller's other sessions. */
  readonly scope?: 'session' | 'all';
}

export interface ClientOptions {
  readonly clock?: Clock;
  /** What the client can do on its own machine; absent in browsers. */
  readonly platform?: Platform | undefined;
}

export class Client implements AsyncDisposable {
  /** The files of the server's machine. */
  readonly files: Files;
  readonly #link: ExecLink;
  readonly #clock: Clock;
  readonly #platform: Platform | undefined;
  readonly #feeds: EventFeeds;
  readonly #portFeed: PortFeed;

  constructor(link: ExecLink, { clock = systemClock, platform }: ClientOptions = {}) {
    this.files = new Files(link, platform);
    this.#link = link;
    this.#clock = clock;
    this.#platform = platform;
    this.#feeds = new EventFeeds(link);
    this.#portFeed = new PortFeed(link);
  }

  /** Rejects with `ExecError` spawnFailed when the command cannot run. */
  async start(options: StartOptions): Promise<ProcessHandle> {
    checkOptions(startOptions, options);
    const { id, ...rest } = options;
    const processId = asProcessId(id ?? crypto.randomUUID());
    this.#feeds.starting(processId);
    // A prepared command contains its whole environment.
    const inherited = options.prepared === undefined ? { envPolicy: inheritance(options.envPolicy) } : {};
    const starting = this.#link.service['process/start']({ ...rest, ...inherited, processId });
    const { pid = Number.NaN } = await starting.catch((error: unknown) => {
      this.#feeds.failed(processId, error);
      throw error;
    });
    const events = this.#link.follow(processId, 0);
    this.#feeds.started(processId, pid);
    const started = { id: processId, pid, events, onDispose: 'terminate' } as const;
    return new ProcessHandle(started, this.#link, this.#clock);
  }

  /**
   * Attaches to an existing process. A slow reader never blocks the process: it misses output instead, which `droppedBytes`
   * reports. Disposing the handle leaves the process running.
   */
  async attach(id: string, options: AttachOptions = {}): Promise<ProcessHandle> {
    const processId = asProcessId(id);
    const { status, events } = await this.#link.attach({ processId, ...options });
    return new ProcessHandle({ id: processId, pid: status.pid, events, onDispose: 'detach' }, this.#link, this.#clock);
  }

  /**
   * Terminates a released process that was started as `restartable`, unless it has already ended, and starts it again under the same id.
   * Resolves when the new process runs. Rejects when the connection is lost during the call; it is then unknown whether it was restarted.
   */
  async restart(id: string, { sessionId, forceAfterMs }: RestartOptions = {}): Promise<{ pid: number }> {
    const { pid } = await this.#link.service['process/restart']({
      processId: asProcessId(id),
      sessionId,
      timeoutMs: forceAfterMs,
    });
    return { pid };
  }

  /** Runs a command to completion and collects its output. */
  run(argv: readonly string[], options?: RunOptions): Promise<RunResult> {
    return runCommand(this, argv, options);
  }

  /**
   * Runs a command to completion in one call, without a handle. Its output is not retained, it ends with the connection, and a lost
   * connection is an error. For commands that must survive one, use `run` or `start`.
   */
  exec(command: readonly string[], options?: ExecOptions): PendingExec {
    return execCommand(this.#link, command, options);
  }

  /** Running processes, and ended ones whose output is still retained. */
  async list(options: ListOptions = {}): Promise<ProcessStatus[]> {
    return (await this.#link.service['process/list'](options)).processes;
  }

  /**
   * All future events of the processes that this client starts or has attached to, as one stream. A slow reader blocks nothing: beyond
   * 4 MiB of output or 10 000 events the oldest are dropped, output first, and a `gap` event reports how much. The output of every process
   * must still be read through its handle, or discarded with `ignoreOutput`.
   */
  events(options: EventsOptions = {}): ClientEvents {
    return this.#feeds.open(options);
  }

  /** The TCP ports on which programs of the server's machine listen, with the process behind each if it is one of the caller's. */
  async ports(): Promise<ListeningPort[]> {
    return (await this.#link.service['ports/list']({})).ports;
  }

  /**
   * Which of the caller's processes listen: first those that do already, then every change. After a lost connection, and to a slow reader,
   * it reports the differences. Leaving the loop stops it.
   */
  portEvents(): AsyncGenerator<PortEvent> {
    return this.#portFeed.events();
  }

  /** Connects to a port or a Unix socket of the server's machine. The operator must have allowed it. */
  openPort(to: RemoteAddress): Promise<Tunnel> {
    return openTunnel(this.#link, to);
  }

  /**
   * Listens on this machine and forwards every connection to a port or a Unix socket of the server's machine, which the operator must have
   * allowed. Connections continue after a lost connection to the server as processes do.
   */
  forward(options: ForwardOptions): Promise<Forward> {
    return openForward({ link: this.#link, platform: this.#platform }, options);
  }

  /** Shell and folders of the machine, and version of the server. */
  environment(): Promise<EnvironmentInfo> {
    return this.#link.service['environment/info']({});
  }

  /** Resolves with the reason when the server can no longer be reached, or with undefined when this client was closed. */
  get ended(): Promise<string | undefined> {
    return this.#link.ended;
  }

  /** Closes the session and terminates every process in it, each with its own grace. Resolves when all are gone. */
  close(): Promise<void> {
    return this.#link.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
