// The server's counters and their Prometheus text. Counting only adds to a number; all other work happens when the text is requested.

import { rpcCodes } from '../base/rpc-codes.js';
import { type EndReason, type ProcessStatus, type SpawnFailure, errorTable, notifications, requests } from '../protocol/index.js';

/** Events the server reports as they happen. Each call only adds to a counter. */
export interface Metrics {
  requested(method: string): void;
  answeredWithError(code: number): void;
  /** `seconds`: from the request to the running process. */
  spawned(seconds: number): void;
  spawnFailed(failure: SpawnFailure): void;
  /** A process has ended. */
  ended(reason: EndReason): void;
  /** The gate refused a request with this HTTP status. */
  refused(status: number): void;
  /** An unauthenticated connection was closed because there were too many of them. */
  cutOff(): void;
  /** Bytes written by processes. */
  output(bytes: number): void;
  /** Bytes that retention dropped before they were read. */
  dropped(bytes: number): void;
}

/** Current values, computed when the text is made, so that nothing has to be kept up to date in between. */
export interface Gauges {
  connections(): number;
  sessions(): number;
  processes(): Readonly<Record<ProcessStatus['state'], number>>;
  /** Output retained for readers. */
  retainedBytes(): number;
  /** Input that children have not read yet. */
  stdinQueuedBytes(): number;
  /** Messages that clients have not received yet. */
  sendQueuedBytes(): number;
  /** Transfers and forwarded connections. */
  flows(): number;
  /** Bytes of flows that have not been acknowledged or read yet. */
  flowBytes(): number;
  /** Files open through `fs/open`. */
  fileHandles(): number;
  fileWatches(): number;
}

/** Counts nothing. */
export const silentMetrics: Metrics = {
  requested() {},
  answeredWithError() {},
  spawned() {},
  spawnFailed() {},
  ended() {},
  refused() {},
  cutOff() {},
  output() {},
  dropped() {},
};

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Upper bounds in seconds: a spawn takes half a millisecond on an idle machine, and a second on an overloaded one. */
const spawnBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

const failures = {
  programNotFound: true,
  notExecutable: true,
  permissionDenied: true,
  cwdNotFound: true,
  cwdNotDirectory: true,
  badArgument: true,
  outOfResources: true,
} satisfies Record<SpawnFailure, true>;

const endReasons = {
  exited: true,
  terminated: true,
  timedOut: true,
  idleTimedOut: true,
  disconnected: true,
  spawnFailed: true,
  serverLost: true,
} satisfies Record<EndReason, true>;

/** Statuses the gate answers with: malformed (400), no known credential (401), wrong host or sent by a web page (403). */
const refusalStatuses = ['400', '401', '403'];

export class ServerMetrics implements Metrics {
  readonly #requests = new Tally([...Object.keys(requests), ...Object.keys(notifications)]);
  readonly #errors = new Tally([...Object.values(rpcCodes), ...Object.values(errorTable).map(({ code }) => code)].map(String));
  readonly #spawnFailures = new Tally(Object.keys(failures));
  readonly #endings = new Tally(Object.keys(endReasons));
  readonly #refusals = new Tally(refusalStatuses);
  readonly #spawnBuckets = spawnBounds.map(() => 0);
  #spawns = 0;
  #cutOff = 0;
  #spawnSeconds = 0;
  #outputBytes = 0;
  #droppedBytes = 0;

  requested(method: string): void {
    this.#requests.add(method);
  }

  answeredWithError(code: number): void {
    this.#errors.add(String(code));
  }

  spawned(seconds: number): void {
    this.#spawns += 1;
    this.#spawnSeconds += seconds;
    const bucket = spawnBounds.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) this.#spawnBuckets[bucket] = (this.#spawnBuckets[bucket] ?? 0) + 1;
  }

  spawnFailed(failure: SpawnFailure): void {
    this.#spawnFailures.add(failure);
  }

  ended(reason: EndReason): void {
    this.#endings.add(reason);
  }

  refused(status: number): void {
    this.#refusals.add(String(status));
  }

  cutOff(): void {
    this.#cutOff += 1;
  }

  output(bytes: number): void {
    this.#outputBytes += bytes;
  }

  dropped(bytes: number): void {
    this.#droppedBytes += bytes;
  }

  /** The text exposition format, version 0.0.4. */
  text(gauges: Gauges): string {
    return [
      gauge('sluice_connections', 'Connections open now.', single(gauges.connections())),
      gauge('sluice_sessions', 'Sessions, attached and detached.', single(gauges.sessions())),
      gauge('sluice_processes', 'Processes by state.', byLabel('state', Object.entries(gauges.processes()))),
      gauge('sluice_retained_bytes', 'Output retained for readers.', single(gauges.retainedBytes())),
      gauge('sluice_stdin_queued_bytes', 'Input that children have not read yet.', single(gauges.stdinQueuedBytes())),
      gauge('sluice_send_queued_bytes', 'Messages that clients have not received yet.', single(gauges.sendQueuedBytes())),
      gauge('sluice_flows', 'Transfers and forwarded connections.', single(gauges.flows())),
      gauge('sluice_flow_bytes', 'Bytes of flows in flight.', single(gauges.flowBytes())),
      gauge('sluice_file_handles', 'Files held open for clients.', single(gauges.fileHandles())),
      gauge('sluice_file_watches', 'Watches on files and folders.', single(gauges.fileWatches())),
      counter('sluice_output_bytes_total', 'Bytes written by processes.', single(this.#outputBytes)),
      counter('sluice_dropped_bytes_total', 'Output dropped before it was read.', single(this.#droppedBytes)),
      histogram('sluice_spawn_seconds', 'Time to start a process.', this.#spawnSamples()),
      counter('sluice_spawn_failures_total', 'Commands that never ran.', byLabel('failure', this.#spawnFailures.counts)),
      counter('sluice_process_endings_total', 'Processes that ended, by reason.', byLabel('reason', this.#endings.counts)),
      counter('sluice_refused_requests_total', 'Requests the gate refused, by status.', byLabel('status', this.#refusals.counts)),
      counter('sluice_cut_off_connections_total', 'Excess unauthenticated connections closed.', single(this.#cutOff)),
      counter('sluice_requests_total', 'Messages received, by method.', byLabel('method', this.#requests.counts)),
      counter('sluice_errors_total', 'Errors answered, by code.', byLabel('code', this.#errors.counts)),
    ].join('');
  }

  #spawnSamples(): Sample[] {
    let total = 0;
    const buckets = spawnBounds.map((bound, index): [string, number] => {
      total += this.#spawnBuckets[index] ?? 0;
      return [String(bound), total];
    });
    return [
      ...byLabel('le', [...buckets, ['+Inf', this.#spawns]]).map((bucket) => ({ ...bucket, suffix: '_bucket' })),
      { suffix: '_sum', labels: '', value: this.#spawnSeconds },
      { suffix: '_count', labels: '', value: this.#spawns },
    ];
  }
}

/** Counts by label. Names not known in advance are counted as `other`, so that no caller can make the table grow. */
class Tally {
  readonly counts: Map<string, number>;

  constructor(names: readonly string[]) {
    this.counts = new Map([...names, 'other'].map((name) => [name, 0]));
  }

  add(name: string): void {
    const known = this.counts.has(name) ? name : 'other';
    this.counts.set(known, (this.counts.get(known) ?? 0) + 1);
  }
}

interface Sample {
  readonly suffix: string;
  readonly labels: string;
  readonly value: number;
}

function single(value: number): Sample[] {
  return [{ suffix: '', labels: '', value }];
}

function byLabel(label: string, counts: Iterable<readonly [string, number]>): Sample[] {
  return [...counts].map(([name, value]) => ({ suffix: '', labels: `{${label}="${escaped(name)}"}`, value }));
}

const counter = familyOf('counter');
const gauge = familyOf('gauge');
const histogram = familyOf('histogram');

function familyOf(type: string): (name: string, help: string, samples: readonly Sample[]) => string {
  return (name, help, samples) => {
    const lines = samples.map(({ suffix, labels, value }) => `${name}${suffix}${labels} ${value}\n`);
    return [`# HELP ${name} ${help}\n`, `# TYPE ${name} ${type}\n`, ...lines].join('');
  };
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
