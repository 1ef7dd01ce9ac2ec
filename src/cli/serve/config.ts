// The configuration of `sluice serve`, checked and typed. Pure: arguments, environment and the reader of a config file are passed in,
// and nothing is opened. Each error is one line that names the value, where it came from and what would be right.

import path from 'node:path';
import {
  type CredentialSource,
  parseAllowedHost,
  parseAllowedOrigin,
  parseSha256,
  requireSafeBind,
} from '../../server/auth/index.js';
import { type ExecPolicy, type FilePolicy, type NetworkPolicy, type ServerLimits, defaultLimits } from '../../server/index.js';
import { type ListenEndpoint, parseListenUrl } from '../../transport/index.js';
import { type Flags, type Settings, readFlags, readNumber } from '../command.js';
import { limitFlag, limitNames, limitOption, plainOptions } from './options.js';
import { type Sources, gatherSettings } from './settings.js';

type PlainFlags = Flags<typeof plainOptions>;

export interface ServeConfig {
  /** At least one; at most one of them is stdio. Each is safe to bind with these credentials. */
  readonly listen: readonly ListenEndpoint[];
  /** Present exactly when one of the listeners is wss. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly credentials: CredentialSource;
  readonly allowedOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
  readonly policy: ExecPolicy;
  readonly files: FilePolicy;
  readonly network: NetworkPolicy;
  readonly metricsAccess: 'guarded' | 'open';
  readonly logLevel: PlainFlags['log-level'];
  readonly limits: ServerLimits;
  /** The server exits after this long without a connection or a process; 0 means never. */
  readonly idleExitMs: number;
  /** For the log: settings without effect. */
  readonly warnings: readonly string[];
}

/** The parsed flags, and the label under which the user gave each. */
interface Given {
  readonly flags: PlainFlags;
  /** The label of the first of these options that was given; undefined when none was. */
  readonly label: (...names: readonly (keyof PlainFlags)[]) => string | undefined;
}

export function readServeConfig(sources: Sources): ServeConfig {
  const { settings, warnings } = gatherSettings(sources);
  const flags = readFlags(plainOptions, settings);
  const given: Given = {
    flags,
    label: (...names) => names.map((name) => settings.get(name)).find((setting) => setting !== undefined)?.label,
  };
  const credentials = readCredentials(given);
  const listen = readListen(given, credentials);
  return {
    listen,
    tls: readTls(given, listen),
    credentials,
    allowedOrigins: checkedTexts(given, 'allow-origin', parseAllowedOrigin),
    allowedHosts: checkedTexts(given, 'allow-host', parseAllowedHost),
    policy: { allowDirectExec: flags['direct-exec'], allowPreparedExec: flags['prepared-exec'] },
    files: readFilePolicy(given),
    network: {
      forward: flags['allow-forward'] ? 'on' : 'off',
      http: flags.http ? 'on' : 'off',
      hosts: checkedTexts(given, 'reach', parseAllowedHost),
    },
    metricsAccess: flags['metrics-open'] ? 'open' : 'guarded',
    logLevel: flags['log-level'],
    limits: readLimits(settings),
    idleExitMs: flags['idle-exit-ms'],
    warnings,
  };
}

function readFilePolicy({ flags, label }: Given): FilePolicy {
  const { root: roots, files, 'read-only-files': isReadOnly } = flags;
  const contradiction = label('root', 'read-only-files');
  if (!files && contradiction !== undefined) throw new Error(`${contradiction} needs files, which --no-files turns off`);
  return {
    ...(roots.length === 0 ? {} : { roots: roots.map((root) => path.resolve(root)) }),
    access: files ? (isReadOnly ? 'read' : 'write') : 'none',
  };
}

function readListen(given: Given, credentials: CredentialSource): ListenEndpoint[] {
  const listen = parsedTexts(given, 'listen', parseListenUrl);
  for (const bind of listen) requireSafeBind(bind, credentials);
  if (listen.filter(({ kind }) => kind === 'stdio').length > 1)
    throw new Error(`${given.label('listen')} names stdio twice; there is only one`);
  return listen;
}

function readTls({ flags, label }: Given, listen: readonly ListenEndpoint[]): ServeConfig['tls'] {
  const { 'tls-cert': certFile, 'tls-key': keyFile } = flags;
  const isNeeded = listen.some((bind) => bind.kind === 'websocket' && bind.isSecure);
  if (certFile === undefined && keyFile === undefined) {
    if (isNeeded) throw new Error('a wss:// address needs --tls-cert and --tls-key');
    return undefined;
  }
  if (certFile === undefined) throw new Error(`${label('tls-key')} needs --tls-cert`);
  if (keyFile === undefined) throw new Error(`${label('tls-cert')} needs --tls-key`);
  if (!isNeeded) throw new Error(`${label('tls-cert')} is not used by any listener; add one with --listen wss://IP:PORT`);
  return { certFile, keyFile };
}

function readCredentials(given: Given): CredentialSource {
  const { flags, label } = given;
  const tokens = label('token-file', 'token-sha256');
  const { 'jwt-secret-file': secretFile, 'jwt-public-key-file': publicKeyFile } = flags;
  const key = label('jwt-secret-file', 'jwt-public-key-file');
  if (tokens !== undefined && key !== undefined) throw new Error(`${tokens} and ${key} exclude each other`);
  if (secretFile !== undefined && publicKeyFile !== undefined) {
    throw new Error(`${key} and ${label('jwt-public-key-file')} exclude each other: a JWT is signed one way or the other`);
  }
  const rules = label('jwt-issuer', 'jwt-audience', 'jwt-skew-seconds');
  if (rules !== undefined && key === undefined) {
    throw new Error(`${rules} needs --jwt-secret-file or --jwt-public-key-file`);
  }
  if (tokens !== undefined) {
    return { kind: 'tokens', files: flags['token-file'], sha256: checkedTexts(given, 'token-sha256', parseSha256) };
  }
  const rule = { issuer: flags['jwt-issuer'], audience: flags['jwt-audience'], skewSeconds: flags['jwt-skew-seconds'] };
  if (secretFile !== undefined) return { kind: 'jwt', key: { algorithm: 'HS256', secretFile }, ...rule };
  if (publicKeyFile !== undefined) return { kind: 'jwt', key: { algorithm: 'EdDSA', publicKeyFile }, ...rule };
  return { kind: 'none' };
}

function readLimits(settings: Settings): ServerLimits {
  const limits: { -readonly [Name in keyof ServerLimits]: number } = { ...defaultLimits };
  for (const name of limitNames) {
    const setting = settings.get(limitFlag(name));
    if (setting !== undefined) limits[name] = readNumber(setting, limitOption(name));
  }
  if (limits.stdinWindowBytes > limits.stdinCapBytes) {
    throw new Error(
      `--stdin-window-bytes must not exceed --stdin-cap-bytes, got ${limits.stdinWindowBytes} and ${limits.stdinCapBytes}`,
    );
  }
  return limits;
}

type ListFlag = 'listen' | 'token-sha256' | 'allow-origin' | 'allow-host' | 'reach';

/** An error names where the text came from. */
function parsedTexts<T>({ flags, label }: Given, name: ListFlag, parse: (text: string) => T): T[] {
  return flags[name].map((text) => {
    try {
      return parse(text);
    } catch (cause) {
      throw new Error(`${label(name)}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  });
}

function checkedTexts(given: Given, name: ListFlag, check: (text: string) => unknown): readonly string[] {
  parsedTexts(given, name, check);
  return given.flags[name];
}
