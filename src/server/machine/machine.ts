// What an operator lets callers do on the server's machine besides running commands, and what all connections share for it.

import type { Clock } from '../../base/clock.js';
import type { ByteBudget, FileWatches, Paths, ReplaceGuard } from '../../files/index.js';
import type { PortPoll } from './port-poll.js';

/** Which files callers may reach through the server's own methods. Commands are not affected, except that `roots` forbids them. */
export interface FilePolicy {
  /** Folders that callers are confined to; everything when absent. Commands are refused then, because they could read anything. */
  readonly roots?: readonly string[];
  /** `write` when absent. */
  readonly access?: 'write' | 'read' | 'none';
}

/** Which addresses callers may reach through the server's own methods. Commands are not affected. */
export interface NetworkPolicy {
  /** Whether `ports/open` connects to ports of this machine; `off` when absent. */
  readonly forward?: 'on' | 'off';
  /** Whether `http/request` is available; `on` when absent. */
  readonly http?: 'on' | 'off';
  /** Hosts, each with an optional port, that callers may reach besides loopback. */
  readonly hosts?: readonly string[];
}

export interface MachineLimits {
  /** Files that one connection may have open through `fs/open`. */
  readonly maxFileHandles: number;
  /** Watches that one connection may have. */
  readonly maxFileWatches: number;
  /** Folders that one watch may cover. */
  readonly maxWatchedFolders: number;
  /** Bytes of files that `fs/readFile` may hold at once for all callers; further reads wait. */
  readonly wholeReadBytes: number;
  /** HTTP requests in progress per connection. */
  readonly maxHttpRequests: number;
}

export interface MachineOptions {
  readonly files: FilePolicy;
  readonly network: NetworkPolicy;
  readonly limits: MachineLimits;
  readonly clock: Clock;
  /** Paths of the Unix sockets on which this server listens. */
  readonly ownSockets: readonly string[];
}

/** What the calls about files of all connections share. */
export interface SharedFiles {
  readonly paths: Paths;
  /** For files that are read whole. */
  readonly wholeReads: ByteBudget;
  readonly watches: FileWatches;
  /** Removes temporary files if this program is killed. */
  readonly guard: ReplaceGuard;
  close(): Promise<void>;
}

/** One per server. */
export class Machine {
  readonly files: FilePolicy;
  readonly network: NetworkPolicy;
  readonly limits: MachineLimits;
  readonly ownSockets: readonly string[];
  /** Made by the first connection that uses ports. */
  portPoll: PortPoll | undefined;
  /** For the metrics: counted by the groups of calls that open them. */
  openHandles = 0;
  openWatches = 0;
  readonly clock: Clock;
  #shared: Promise<SharedFiles> | undefined;

  constructor({ files, network, limits, clock, ownSockets }: MachineOptions) {
    this.files = files;
    this.network = network;
    this.limits = limits;
    this.clock = clock;
    this.ownSockets = ownSockets;
  }

  /** Loads the code for files, and opens the roots. Rejects if a root is missing, or if this machine cannot confine callers. */
  shared(): Promise<SharedFiles> {
    this.#shared ??= openShared(this);
    return this.#shared;
  }

  async close(): Promise<void> {
    await (await this.#shared?.catch(() => undefined))?.close();
  }
}

async function openShared({ files, limits, clock }: Machine): Promise<SharedFiles> {
  const { ByteBudget, FileWatches, Paths, ReplaceGuard } = await import('../../files/index.js');
  const paths = Paths.open(files);
  const watches = new FileWatches({ clock, limits: { folders: limits.maxWatchedFolders } });
  const guard = new ReplaceGuard();
  return {
    paths,
    guard,
    wholeReads: new ByteBudget(limits.wholeReadBytes),
    watches,
    close: async () => {
      watches.close();
      paths.close();
      await guard.close();
    },
  };
}
