// The one table of the settings of `sluice serve`. Flags, environment, config file and help are derived from it.
// One name everywhere: --max-connections, SLUICE_MAX_CONNECTIONS, "maxConnections".

import { acknowledgeEveryBytes } from '../../protocol/index.js';
import { type ServerLimits, defaultLimits } from '../../server/index.js';
import { type Option, type Options, longestMs } from '../command.js';

/** A day of skew is a broken clock, and would make every expiry meaningless. */
const mostSkewSeconds = 3_600;

export const plainOptions = {
  listen: {
    kind: 'list',
    placeholder: 'URL',
    default: 'ws://127.0.0.1:0',
    meaning:
      'Where to listen: ws://IP:PORT, wss://IP:PORT, unix:///PATH, or stdio for one client. Port 0 means a free one. Repeatable.',
  },
  'tls-cert': { kind: 'text', placeholder: 'FILE', meaning: 'Certificate chain in PEM, for wss://.' },
  'tls-key': { kind: 'text', placeholder: 'FILE', meaning: 'Private key of the certificate in PEM.' },
  'token-file': {
    kind: 'list',
    placeholder: 'FILE',
    meaning:
      'Callers must present one of the tokens in this file, one per line, at least 16 characters each. Read once, at startup. Repeatable.',
  },
  'token-sha256': {
    kind: 'list',
    placeholder: 'HEX',
    meaning: 'Callers must present the token with this SHA-256; the server need not know the token. Repeatable.',
  },
  'jwt-secret-file': {
    kind: 'text',
    placeholder: 'FILE',
    meaning: 'Callers must present a JWT signed with HS256 and the secret in this file, 32 bytes or more.',
  },
  'jwt-public-key-file': {
    kind: 'text',
    placeholder: 'FILE',
    meaning: 'Callers must present a JWT signed with EdDSA; the file holds the Ed25519 public key in PEM.',
  },
  'jwt-issuer': { kind: 'text', placeholder: 'NAME', meaning: 'The "iss" that a JWT must have.' },
  'jwt-audience': {
    kind: 'text',
    placeholder: 'NAME',
    meaning: 'The "aud" that a JWT must have; without it, a JWT must have none.',
  },
  'jwt-skew-seconds': {
    kind: 'number',
    placeholder: 'SECONDS',
    range: [0, mostSkewSeconds],
    default: '30',
    meaning: 'How far the clocks of issuer and server may differ.',
  },
  'allow-origin': {
    kind: 'list',
    placeholder: 'ORIGIN',
    meaning: 'Let web pages of this origin connect, as in https://example.com; all others are refused. Repeatable.',
  },
  'allow-host': {
    kind: 'list',
    placeholder: 'HOST[:PORT]',
    meaning: 'Accept this host name too, besides the listening address; needed behind proxies and forwarded ports. Repeatable.',
  },
  'direct-exec': { kind: 'toggle', default: 'on', meaning: 'Let callers run commands directly.' },
  'prepared-exec': { kind: 'toggle', default: 'on', meaning: 'Let callers run commands that they have prepared.' },
  root: {
    kind: 'list',
    placeholder: 'FOLDER',
    meaning:
      'Confine callers to the files in this folder. Commands are refused then, because a command could read everything else. Repeatable.',
  },
  files: { kind: 'toggle', default: 'on', meaning: 'Let callers reach files without a command.' },
  'read-only-files': {
    kind: 'toggle',
    default: 'off',
    meaning: 'Let callers only read files; commands can still write, unless there is a --root.',
  },
  http: { kind: 'toggle', default: 'on', meaning: 'Let callers make HTTP requests from this machine, to loopback only.' },
  'allow-forward': {
    kind: 'toggle',
    default: 'off',
    meaning: 'Let callers connect to ports and Unix sockets of this machine, as "sluice forward" does.',
  },
  reach: {
    kind: 'list',
    placeholder: 'HOST[:PORT]',
    meaning: 'Let HTTP requests and forwarded connections reach this host too, besides loopback. Repeatable.',
  },
  'metrics-open': { kind: 'toggle', default: 'off', meaning: 'Serve /metrics to callers without a token.' },
  'log-level': {
    kind: 'choice',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    placeholder: 'LEVEL',
    default: 'info',
    meaning: 'What to log on stderr: debug, info, warn, error or silent.',
  },
  'idle-exit-ms': {
    kind: 'number',
    placeholder: 'MS',
    range: [0, longestMs],
    default: '0',
    meaning: 'Exit after this long without a connection and without a process, running or readable; 0 means never.',
  },
  config: { kind: 'text', placeholder: 'FILE', meaning: 'JSON file with any of these settings, as in {"maxConnections": 10}.' },
} as const satisfies Options;

interface LimitOption {
  /** The flag, when it differs from the limit's own name. */
  readonly flag?: string;
  readonly unit: 'bytes' | 'ms' | 'count';
  /** By default 0 for times, otherwise 1. */
  readonly min?: number;
  readonly max?: number;
  readonly meaning: string;
}

const limitOptions = {
  maxConnections: { unit: 'count', meaning: 'Simultaneous connections of known callers, for each address.' },
  maxUnauthenticated: {
    unit: 'count',
    meaning: 'Connections, for each address, without a credential and without a session yet; beyond this the oldest are closed.',
  },
  maxSessionsPerCaller: { flag: 'max-sessions-per-token', unit: 'count', meaning: 'Sessions of one caller.' },
  maxProcessesPerCaller: {
    flag: 'max-processes-per-token',
    unit: 'count',
    meaning: 'Running processes of one caller, over all sessions.',
  },
  maxProcesses: { unit: 'count', meaning: 'Running processes of one session.' },
  // V8 has no strings longer than 512 MiB.
  maxMessageBytes: { unit: 'bytes', max: 256 * 1024 * 1024, meaning: 'Longest message from a client.' },
  maxReplyBytes: {
    unit: 'bytes',
    max: 64 * 1024 * 1024,
    meaning: 'Output per stream in the reply of a command whose caller has disabled the cap.',
  },
  maxInFlight: {
    flag: 'max-requests-in-flight',
    unit: 'count',
    meaning: 'Requests in progress on one connection; more are refused.',
  },
  jsonDepth: { unit: 'count', max: 1_000, meaning: 'How deeply a message may be nested.' },
  jsonValues: { unit: 'count', meaning: 'Values in one message.' },
  silentClientMs: {
    unit: 'ms',
    meaning: 'How long a client that answers no ping, such as a stopped one, keeps its connection. WebSocket only.',
  },
  detachGraceMs: { unit: 'ms', meaning: 'How long processes keep running after their client is lost.' },
  forceAfterMs: { unit: 'ms', meaning: 'Time between SIGTERM and SIGKILL when the caller sets none.' },
  // More than the default would outlast the timeouts of launchers and clients.
  maxCloseGraceMs: {
    unit: 'ms',
    max: 4_000,
    meaning: 'Upper limit of that time for processes that are ended with their connection, their session or the server.',
  },
  retainedBytes: { unit: 'bytes', meaning: 'Output kept readable per process.' },
  headBytes: { unit: 'bytes', min: 0, meaning: 'Part of that kept for the beginning of each stream.' },
  retainedEntries: { unit: 'count', meaning: 'Pieces of output kept readable per process.' },
  readerWindowBytes: {
    unit: 'bytes',
    min: acknowledgeEveryBytes,
    meaning: 'Output that a client may leave unread before its process is held back.',
  },
  stdinWindowBytes: { unit: 'bytes', meaning: 'Input per process that is accepted without waiting.' },
  stdinCapBytes: { unit: 'bytes', meaning: 'Most input that may wait per process; more is refused.' },
  drainQuietMs: { unit: 'ms', meaning: 'After an exit, output of descendants is read until there was none for this long.' },
  drainLimitMs: { unit: 'ms', meaning: 'After an exit, output of descendants is read no longer than this.' },
  maxClosed: { unit: 'count', min: 0, meaning: 'Ended processes of one session kept readable.' },
  maxClosedBytes: { unit: 'bytes', min: 0, meaning: 'Memory kept by all ended processes of one session together.' },
  maxArgvBytes: { unit: 'bytes', meaning: 'Arguments of one process.' },
  maxEnvBytes: { unit: 'bytes', meaning: 'Environment of one process.' },
  maxMetadataBytes: { unit: 'bytes', min: 0, meaning: 'Metadata of one process, as JSON.' },
  maxRequestBytes: { unit: 'bytes', meaning: 'Arguments and metadata of all running processes of one session together.' },
  maxFlows: { unit: 'count', meaning: 'Transfers and forwarded connections of one session.' },
  maxFileHandles: { unit: 'count', meaning: 'Files that one connection may hold open.' },
  maxFileWatches: { unit: 'count', meaning: 'Watches on files and folders of one connection.' },
  maxWatchedFolders: { unit: 'count', meaning: 'Folders that one watch may cover.' },
  wholeReadBytes: { unit: 'bytes', meaning: 'Files read whole, of all callers together; further reads wait.' },
  maxHttpRequests: { unit: 'count', meaning: 'HTTP requests in progress of one connection.' },
  keepReleasedMs: { unit: 'ms', meaning: 'How long an ended process that was started with "sluice exec -d" stays readable.' },
  keepClosedMs: { unit: 'ms', meaning: 'How long an ended process stays readable.' },
} as const satisfies Record<keyof ServerLimits, LimitOption>;

export const limitNames = Object.keys(limitOptions).filter(isLimitName);

function isLimitName(name: string): name is keyof ServerLimits {
  return Object.hasOwn(limitOptions, name);
}

/** The flag of a limit, without the dashes. */
export function limitFlag(name: keyof ServerLimits): string {
  const option: LimitOption = limitOptions[name];
  return option.flag ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function limitOption(name: keyof ServerLimits): Option {
  const { unit, min, max, meaning }: LimitOption = limitOptions[name];
  const [least, most] = unit === 'ms' ? [0, longestMs] : [1, Number.MAX_SAFE_INTEGER];
  return {
    kind: unit === 'bytes' ? 'size' : 'number',
    placeholder: unit.toUpperCase(),
    range: [min ?? least, max ?? most],
    default: unit === 'bytes' ? printBytes(defaultLimits[name]) : String(defaultLimits[name]),
    meaning,
    group: 'Limits; sizes take KiB, MiB and GiB',
  };
}

/** Every option by its flag without the dashes, in the order of the help, with the default and the variable appended to its meaning. */
export const serveOptions: ReadonlyMap<string, Option> = new Map(
  [...Object.entries<Option>(plainOptions), ...limitNames.map((name) => [limitFlag(name), limitOption(name)] as const)].map(
    ([flag, option]) => {
      const standard = option.default === undefined ? '' : ` Default: ${option.default}.`;
      return [flag, { ...option, meaning: `${option.meaning}${standard} [${envNameOf(flag)}]` }];
    },
  ),
);

export function envNameOf(flag: string): string {
  return `SLUICE_${flag.replaceAll('-', '_').toUpperCase()}`;
}

export function fileNameOf(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function printBytes(bytes: number): string {
  for (const [unit, size] of [['MiB', 1024 * 1024] as const, ['KiB', 1024] as const]) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
}
