// What `sluice serve` was told, checked and typed. Pure: arguments, environment and the reading of a config file are handed in,
// and nothing is opened. Each error is one line that names the value, where it came from and what would be right.

import {
  type CredentialSource,
  parseAllowedHost,
  parseAllowedOrigin,
  parseSha256,
  requireSafeBind,
} from '../../server/auth/index.js';
import { type ExecPolicy, type ServerLimits, defaultLimits } from '../../server/index.js';
import { type ListenEndpoint, parseListenUrl } from '../../transport/index.js';
import { longestMs } from '../command.js';
import { type LimitOption, type PlainOption, limitFlag, limitNames, limitOptions, plainOptions } from './options.js';
import { type Setting, type Settings, type Sources, gatherSettings } from './settings.js';

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export interface ServeConfig {
  /** At least one; at most one of them is stdio. Each is safe to bind with these credentials. */
  readonly listen: readonly ListenEndpoint[];
  /** Present exactly when one of the listeners is wss. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly credentials: CredentialSource;
  readonly allowedOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
  readonly policy: ExecPolicy;
  readonly metricsAccess: 'guarded' | 'open';
  readonly logLevel: (typeof logLevels)[number];
  readonly limits: ServerLimits;
  /** The server ends after this long without a connection or a process; 0 for never. */
  readonly idleExitMs: number;
  /** For the log: what was said and does nothing. */
  readonly warnings: readonly string[];
}

export function readServeConfig(sources: Sources): ServeConfig {
  const { settings, warnings } = gatherSettings(sources);
  const credentials = readCredentials(settings);
  const listen = readListen(settings, credentials);
  return {
    listen,
    tls: readTls(settings, listen),
    credentials,
    allowedOrigins: checkedList(settings, 'allow-origin', parseAllowedOrigin),
    allowedHosts: checkedList(settings, 'allow-host', parseAllowedHost),
    policy: { allowDirectExec: isOn(settings, 'direct-exec'), allowPreparedExec: isOn(settings, 'prepared-exec') },
    metricsAccess: isOn(settings, 'metrics-open') ? 'open' : 'guarded',
    logLevel: readLogLevel(settings),
    limits: readLimits(settings),
    idleExitMs: readIdleExitMs(settings),
    warnings,
  };
}

function readListen(settings: Settings, credentials: CredentialSource): ListenEndpoint[] {
  const setting = settings.get('listen') ?? { label: '--listen', texts: [plainOptions.listen.default] };
  const listen = setting.texts.map((text) => read(setting, text, parseListenUrl));
  for (const bind of listen) requireSafeBind(bind, credentials);
  if (listen.filter(({ kind }) => kind === 'stdio').length > 1)
    throw new Error(`${setting.label} names stdio twice; there is only one`);
  return listen;
}

function readTls(settings: Settings, listen: readonly ListenEndpoint[]): ServeConfig['tls'] {
  const [cert, key] = [settings.get('tls-cert'), settings.get('tls-key')];
  const isNeeded = listen.some((bind) => bind.kind === 'websocket' && bind.isSecure);
  if (cert === undefined && key === undefined) {
    if (isNeeded) throw new Error('a wss:// address needs --tls-cert and --tls-key');
    return undefined;
  }
  if (cert === undefined) throw new Error(`${key?.label} needs --tls-cert beside it`);
  if (key === undefined) throw new Error(`${cert.label} needs --tls-key beside it`);
  if (!isNeeded) throw new Error(`${cert.label} is used by no listener; add one with --listen wss://IP:PORT`);
  return { certFile: only(cert), keyFile: only(key) };
}

function readCredentials(settings: Settings): CredentialSource {
  const tokens = settings.get('token-file') ?? settings.get('token-sha256');
  const [secret, publicKey] = [settings.get('jwt-secret-file'), settings.get('jwt-public-key-file')];
  const key = secret ?? publicKey;
  if (tokens !== undefined && key !== undefined) throw new Error(`${tokens.label} and ${key.label} exclude each other`);
  if (secret !== undefined && publicKey !== undefined) {
    throw new Error(`${secret.label} and ${publicKey.label} exclude each other: a JWT is signed one way or the other`);
  }
  const rules = settings.get('jwt-issuer') ?? settings.get('jwt-audience') ?? settings.get('jwt-skew-seconds');
  if (rules !== undefined && key === undefined) {
    throw new Error(`${rules.label} needs --jwt-secret-file or --jwt-public-key-file beside it`);
  }
  if (tokens !== undefined) {
    const files = settings.get('token-file')?.texts ?? [];
    return { kind: 'tokens', files, sha256: checkedList(settings, 'token-sha256', parseSha256) };
  }
  if (key === undefined) return { kind: 'none' };
  return {
    kind: 'jwt',
    key: key === secret ? { algorithm: 'HS256', secretFile: only(key) } : { algorithm: 'EdDSA', publicKeyFile: only(key) },
    issuer: settings.get('jwt-issuer')?.texts[0],
    audience: settings.get('jwt-audience')?.texts[0],
    skewSeconds: readSkewSeconds(settings),
  };
}

/** A day of skew is a broken clock, and would make every expiry meaningless. */
const mostSkewSeconds = 3_600;

function readSkewSeconds(settings: Settings): number {
  const setting = settings.get('jwt-skew-seconds');
  const text = setting === undefined ? plainOptions['jwt-skew-seconds'].default : only(setting);
  return wholeNumber({ label: '--jwt-skew-seconds', ...setting, texts: [text] }, { unit: 'count', min: 0, max: mostSkewSeconds });
}

function readIdleExitMs(settings: Settings): number {
  const setting = settings.get('idle-exit-ms');
  const text = setting === undefined ? plainOptions['idle-exit-ms'].default : only(setting);
  return wholeNumber({ label: '--idle-exit-ms', ...setting, texts: [text] }, { unit: 'ms' });
}

function readLogLevel(settings: Settings): ServeConfig['logLevel'] {
  const setting = settings.get('log-level');
  if (setting === undefined) return plainOptions['log-level'].default;
  const level = logLevels.find((candidate) => candidate === only(setting));
  if (level === undefined) throw new Error(`${setting.label} must be one of ${logLevels.join(', ')}, got "${only(setting)}"`);
  return level;
}

function isOn(settings: Settings, flag: PlainOption<'switch'>): boolean {
  const setting = settings.get(flag);
  if (setting === undefined) return plainOptions[flag].default === 'on';
  switch (only(setting).toLowerCase()) {
    case 'true':
    case '1':
      return true;
    case 'false':
    case '0':
      return false;
    default:
      throw new Error(`${setting.label} must be true or false, got "${only(setting)}"`);
  }
}

function readLimits(settings: Settings): ServerLimits {
  const limits: { -readonly [Name in keyof ServerLimits]: number } = { ...defaultLimits };
  for (const name of limitNames) {
    const setting = settings.get(limitFlag(name));
    if (setting !== undefined) limits[name] = wholeNumber(setting, limitOptions[name]);
  }
  if (limits.stdinWindowBytes > limits.stdinCapBytes) {
    throw new Error(
      `--stdin-window-bytes must not be above --stdin-cap-bytes, got ${limits.stdinWindowBytes} and ${limits.stdinCapBytes}`,
    );
  }
  return limits;
}

const sizes = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

function wholeNumber(setting: Setting, { unit, min, max }: Pick<LimitOption, 'unit' | 'min' | 'max'>): number {
  const text = only(setting).trim();
  const { digits, size } = /^(?<digits>\d+)\s*(?<size>[KMG]iB)?$/.exec(text)?.groups ?? {};
  const factor = size === 'KiB' || size === 'MiB' || size === 'GiB' ? sizes[size] : 1;
  const value = digits === undefined || (size !== undefined && unit !== 'bytes') ? Number.NaN : Number(digits) * factor;
  const least = min ?? (unit === 'ms' ? 0 : 1);
  const most = max ?? (unit === 'ms' ? longestMs : Number.MAX_SAFE_INTEGER);
  if (value >= least && value <= most) return value;
  const form = unit === 'bytes' ? 'a whole number, or one with KiB, MiB or GiB,' : 'a whole number';
  throw new Error(`${setting.label} must be ${form} from ${least} to ${most}, got "${text}"`);
}

function checkedList(settings: Settings, flag: PlainOption<'list'>, check: (text: string) => unknown): readonly string[] {
  const setting = settings.get(flag);
  for (const text of setting?.texts ?? []) if (setting !== undefined) read(setting, text, check);
  return setting?.texts ?? [];
}

/** Says where the text came from when it cannot be read. */
function read<T>(setting: Setting, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (cause) {
    throw new Error(`${setting.label}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

function only({ texts }: Setting): string {
  return texts[0] ?? '';
}
