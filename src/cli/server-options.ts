// Which server a command talks to: a named one, one launched for it, or the user's own background server.

import { readFileSync } from 'node:fs';
import type { Client, TokenSource } from '../client/index.js';
import { type Flags, UsageError } from './command.js';
import { connectionNotice } from './connection-notice.js';
import { ignoringTheSame } from './inherited-signals.js';
import { complain } from './own-output.js';
import { quoted, splitShellWords } from './shell-words.js';

const group = 'Server';

export const serverOptions = {
  connect: {
    kind: 'text',
    placeholder: 'URL',
    group,
    meaning: 'Use the server at this ws://, wss:// or unix:// address. [SLUICE_URL]',
  },
  'token-file': {
    kind: 'text',
    placeholder: 'FILE',
    group,
    meaning:
      'Present the token in this file, which is reread when the server refuses the token. [SLUICE_TOKEN holds the token itself]',
  },
  ca: {
    kind: 'text',
    placeholder: 'FILE',
    group,
    meaning: 'For wss://, trust only the certificate authorities in this PEM file. [SLUICE_CA]',
  },
  via: {
    kind: 'text',
    placeholder: 'COMMAND',
    group,
    meaning: 'Launch a server through this command, as in --via "ssh host", and talk to it over stdin and stdout.',
  },
  'remote-sluice': {
    kind: 'text',
    placeholder: 'PROGRAM',
    group,
    meaning: 'With --via: name or path of Sluice on the other side. Default: sluice.',
  },
  reconnect: {
    kind: 'duration',
    placeholder: 'TIME',
    group,
    meaning: 'How long to try to reconnect after a lost connection; 0 gives up at once. Default: 25s.',
  },
} as const;

export type ServerFlags = Flags<typeof serverOptions>;

export type NamedServer =
  | { readonly kind: 'address'; readonly url: string; readonly token: TokenSource | undefined; readonly ca: string | undefined }
  | { readonly kind: 'launched'; readonly command: readonly [string, ...string[]] };

/** The server that flags and variables name; undefined when they name none. */
export function namedServer(flags: ServerFlags, env: NodeJS.ProcessEnv): NamedServer | undefined {
  if (flags.via !== undefined) {
    if (flags.connect !== undefined) throw new UsageError('--connect and --via exclude each other: each names a server');
    const [program, ...args] = splitShellWords(flags.via);
    if (program === undefined) throw new UsageError('--via needs a command, as in --via "ssh host"');
    const sluice = flags['remote-sluice'] ?? 'sluice';
    return { kind: 'launched', command: [program, ...args, sluice, 'serve', '--listen', 'stdio', '--log-level', 'warn'] };
  }
  if (flags['remote-sluice'] !== undefined) throw new UsageError('--remote-sluice needs --via');
  const url = flags.connect ?? env['SLUICE_URL'];
  if (url !== undefined && url !== '')
    return { kind: 'address', url, token: tokenSource(flags, env), ca: authorities(url, flags, env) };
  if (flags['token-file'] !== undefined) throw new UsageError('--token-file needs --connect');
  if (flags.ca !== undefined) throw new UsageError('--ca needs --connect');
  return undefined;
}

/** `notify` receives messages about the connection; by default they are printed on stderr. */
export async function openServer(
  server: NamedServer,
  { reconnect }: Pick<ServerFlags, 'reconnect'>,
  notify: (text: string) => void = notifyOnStderr,
): Promise<Client> {
  const timeouts = reconnect === undefined ? {} : { timeouts: { reconnectMs: reconnect } };
  switch (server.kind) {
    case 'address':
      return (await import('../local/index.js'))
        .connect(server.url, {
          ...timeouts,
          onConnection: connectionNotice(server.url, notify),
          ...(server.token === undefined ? {} : { token: server.token }),
          ...(server.ca === undefined ? {} : { ca: server.ca }),
        })
        .catch((error: unknown) => {
          throw withAuthorityHint(error);
        });
    case 'launched': {
      const [command, ...args] = ignoringTheSame(server.command);
      return (await import('../local/index.js')).launchServer({ command, args });
    }
  }
}

function notifyOnStderr(text: string): void {
  void complain(text);
}

function tokenSource(flags: ServerFlags, env: NodeJS.ProcessEnv): TokenSource | undefined {
  const file = flags['token-file'];
  return file === undefined ? env['SLUICE_TOKEN'] : () => readToken(file);
}

function readToken(file: string): string {
  const [token = ''] = readFileSync(file, 'utf8').split('\n');
  if (token.trim() === '') throw new UsageError(`--token-file ${file} has no token in its first line`);
  return token.trim();
}

/** Names the command that reattaches to a process that was left running. */
export function detachedText(name: string, { connect, ca, 'token-file': tokenFile }: ServerFlags): string {
  const server = [
    ...(connect === undefined ? [] : ['--connect', connect]),
    ...(ca === undefined ? [] : ['--ca', ca]),
    ...(tokenFile === undefined ? [] : ['--token-file', tokenFile]),
  ];
  return `detached; reattach with "${['sluice', 'attach', ...server, name].map(quoted).join(' ')}"`;
}

/** The variable is for every named server, so it may not apply to this one; the flag is meant for this one. */
function authorities(url: string, { ca }: ServerFlags, env: NodeJS.ProcessEnv): string | undefined {
  const file = ca ?? env['SLUICE_CA'];
  if (file === undefined || file === '') return undefined;
  if (!url.startsWith('wss://')) {
    if (ca === undefined) return undefined;
    throw new UsageError(`--ca is for wss:// addresses, got ${url}`);
  }
  const name = ca === undefined ? 'SLUICE_CA' : '--ca';
  const pem = readNamedFile(name, file);
  // Node ignores a file without a certificate, and the connection would fail with an unrelated error.
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new UsageError(`${name} ${file} contains no PEM certificate`);
  return pem;
}

function readNamedFile(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** OpenSSL's codes for a chain that ends in an authority it does not trust. */
const unknownAuthority = /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER))/;

/** Newer versions of Node append this to the problem; sluice does not accept that Node flag. */
const nodeHint = '; if the root CA is installed locally, try running Node.js with --use-system-ca';

function withAuthorityHint(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(error instanceof Error && cause instanceof Error && 'code' in cause)) return error;
  if (!unknownAuthority.test(String(cause.code))) return error;
  const problem = error.message.replace(nodeHint, '');
  return new Error(`${problem}; if its certificate authority is private, name it with --ca FILE`, { cause: error });
}

/** Explains why it is unknown how a process ended. */
export async function lossText(client: Client): Promise<string> {
  const problem = await Promise.race([client.ended, Promise.resolve(undefined)]);
  if (problem === undefined) return 'the end of the process was not observed, so how it ended is unknown';
  return `the server was lost (${problem}); its processes end with it, and how this one ended is unknown`;
}
