// Start, find and list processes over any ExecService. Does not know whether there is a wire.

import { type Clock, systemClock } from '../base/clock.js';
import {
  type EnvPolicy,
  type EnvironmentInfo,
  type Io,
  type PreparedSpec,
  type ProcessStatus,
  asProcessId,
} from '../protocol/index.js';
import { checkOptions } from '../protocol/read-params.js';
import { inheritance } from './environment.js';
import { type ExecOptions, type PendingExec, execCommand } from './exec.js';
import { type ClientEvents, EventFeeds, type EventsOptions } from './event-feed.js';
import type { ExecLink } from './exec-link.js';
import { startOptions } from './option-checks.js';
import { ProcessHandle } from './process-handle.js';
import { type RunOptions, type RunResult, runCommand } from './run.js';

export interface StartOptions {
  /** Program and arguments. Give this or `prepared`. */
  readonly argv?: readonly string[];
  /** A resolved command, spawned exactly as given. */
  readonly prepared?: PreparedSpec;
  /** Absolute path or file: URI; the server's folder when absent. */
  readonly cwd?: string;
  /** Laid over what the process inherits. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * What the process inherits from the server it runs on. The core variables when absent: PATH, SHELL, TMPDIR, TEMP, TMP, HOME, LANG,
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
   * Grace between SIGTERM and SIGKILL whenever the process is ended; the server's default when absent. When the process is ended
   * with its client, session or server, at most 4 s of it count.
   */
  readonly forceAfterMs?: number;
  /** The caller's own notes, shown by `list`. */
  readonly metadata?: Record<string, unknown>;
  /** Whether the server keeps what `restart` needs, the environment included; it does not when absent. */
  readonly restartable?: boolean;
  /** A key of the caller's choice; a random one when absent. */
  readonly id?: string;
}

export interface AttachOptions {
  /** Session that owns the process, as `list` tells; this client's own when absent. */
  readonly sessionId?: string;
  /** A driver may write, resize, signal and end it; a watcher only sees. A watcher when absent. */
  readonly role?: 'watch' | 'drive';
  /** Replay what is retained after this number, then go on live; from the beginning when absent. */
  readonly afterSeq?: number;
  /** Bytes up to and including `afterSeq`, as a page's `nextBytes` tells: makes what is said to be missing exact. */
  readonly afterBytes?: number;
  /** false: no output, only the other methods of the handle. */
  readonly follow?: boolean;
}

export interface RestartOptions {
  /** Session that owns the process, as `release` and `list` tell. */
  readonly sessionId?: string | undefined;
  /** Patience between SIGTERM and SIGKILL; what the process was started with when absent. */
  readonly forceAfterMs?: number | undefined;
}

export interface ListOptions {
  /** `all`: also the processes of the caller's other sessions. */
  readonly scope?: 'session' | 'all';
}

export class Client implements AsyncDisposable {
  readonly #link: ExecLink;
  readonly #clock: Clock;
  readonly #feeds: EventFeeds;

  constructor(link: ExecLink, { clock = systemClock }: { readonly clock?: Clock } = {}) {
    this.#link = link;
    this.#clock = clock;
    this.#feeds = new EventFeeds(link);
  }

  /** Rejects with `ExecError` spawnFailed when the command cannot run. */
  async start(options: StartOptions): Promise<ProcessHandle> {
    checkOptions(startOptions, options);
    const { id, ...rest } = options;
    const processId = asProcessId(id ?? crypto.randomUUID());
    this.#feeds.starting(processId);
    // A prepared command has its whole environment in it.
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
   * Joins a process that is there already. What the reader is too slow for is a gap, told with `droppedBytes`; it never
   * holds the process back. Disposing the handle leaves the process running.
   */
  async attach(id: string, options: AttachOptions = {}): Promise<ProcessHandle> {
    const processId = asProcessId(id);
    const { status, events } = await this.#link.attach({ processId, ...options });
    return new ProcessHandle({ id: processId, pid: status.pid, events, onDispose: 'detach' }, this.#link, this.#clock);
  }

  /**
   * Ends a released process that was started as `restartable`, unless it has ended, and starts the same again under its id. Resolves
   * when the new one runs. Rejects when the connection is lost meanwhile: whether it was restarted is then not known.
   */
  async restart(id: string, { sessionId, forceAfterMs }: RestartOptions = {}): Promise<{ pid: number }> {
    const { pid } = await this.#link.service['process/restart']({
      processId: asProcessId(id),
      sessionId,
      timeoutMs: forceAfterMs,
    });
    return { pid };
  }

  /** Runs a command to its end and collects what it wrote. */
  run(argv: readonly string[], options?: RunOptions): Promise<RunResult> {
    return runCommand(this, argv, options);
  }

  /**
   * Runs a command to its end in one call, without a handle: nothing of it is retained, it ends with the connection, and a lost
   * connection is an error. For what must survive one, use `run` or `start`.
   */
  exec(command: readonly string[], options?: ExecOptions): PendingExec {
    return execCommand(this.#link, command, options);
  }

  /** Running processes, and ended ones that are still readable. */
  async list(options: ListOptions = {}): Promise<ProcessStatus[]> {
    return (await this.#link.service['process/list'](options)).processes;
  }

  /**
   * Everything that happens from now on to the processes that this client starts, or has joined with `attach`, as one stream. A reader that
   * is too slow holds nothing back: beyond 4 MiB of output or 10 000 events the oldest are dropped, output first, and a `gap` tells how much.
   * Every process must be read by its handle all the same, or let go with `ignoreOutput`.
   */
  events(options: EventsOptions = {}): ClientEvents {
    return this.#feeds.open(options);
  }

  /** Shell, folders and version of the machine and the server. */
  environment(): Promise<EnvironmentInfo> {
    return this.#link.service['environment/info']({});
  }

  /** Resolves when the server is out of reach for good, with why; with nothing once this client was closed. */
  get ended(): Promise<string | undefined> {
    return this.#link.ended;
  }

  /** Ends the session and every process in it, each with its own grace, and resolves when all are gone. */
  close(): Promise<void> {
    return this.#link.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
