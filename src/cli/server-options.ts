// Which server a command talks to: a named one, one launched for it, or the user's own in the background.

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
      'Present the token in this file, which is read again when the server refuses it. [SLUICE_TOKEN holds the token itself]',
  },
  ca: {
    kind: 'text',
    placeholder: 'FILE',
    group,
    meaning: 'Trust the authorities in this PEM file for wss://, and no others. [SLUICE_CA]',
  },
  via: {
    kind: 'text',
    placeholder: 'COMMAND',
    group,
    meaning: 'Launch a server through this command, as in --via "ssh host", and talk over its stdin and stdout.',
  },
  'remote-sluice': {
    kind: 'text',
    placeholder: 'PROGRAM',
    group,
    meaning: 'With --via: what Sluice is called there. Default: sluice.',
  },
  reconnect: {
    kind: 'duration',
    placeholder: 'TIME',
    group,
    meaning: 'How long to try to come back after a lost connection; 0 gives up at once. Default: 25s.',
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
  if (flags['remote-sluice'] !== undefined) throw new UsageError('--remote-sluice needs --via beside it');
  const url = flags.connect ?? env['SLUICE_URL'];
  if (url !== undefined && url !== '')
    return { kind: 'address', url, token: tokenSource(flags, env), ca: authorities(url, flags, env) };
  if (flags['token-file'] !== undefined) throw new UsageError('--token-file needs --connect beside it');
  if (flags.ca !== undefined) throw new UsageError('--ca needs --connect beside it');
  return undefined;
}

/** `tell` gets what is to be said of the connection; a line on stderr when absent. */
export async function openServer(
  server: NamedServer,
  { reconnect }: Pick<ServerFlags, 'reconnect'>,
  tell: (text: string) => void = tellOnStderr,
): Promise<Client> {
  const timeouts = reconnect === undefined ? {} : { timeouts: { reconnectMs: reconnect } };
  switch (server.kind) {
    case 'address':
      return (await import('../local/index.js'))
        .connect(server.url, {
          ...timeouts,
          onConnection: connectionNotice(server.url, tell),
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

function tellOnStderr(text: string): void {
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

/** What brings a process back that was left running. */
export function detachedText(name: string, { connect, ca, 'token-file': tokenFile }: ServerFlags): string {
  const server = [
    ...(connect === undefined ? [] : ['--connect', connect]),
    ...(ca === undefined ? [] : ['--ca', ca]),
    ...(tokenFile === undefined ? [] : ['--token-file', tokenFile]),
  ];
  return `detached; "${['sluice', 'attach', ...server, name].map(quoted).join(' ')}" comes back to it`;
}

/** A variable is for every server that is named, so it may be of no use to this one; a flag is meant for it. */
function authorities(url: string, { ca }: ServerFlags, env: NodeJS.ProcessEnv): string | undefined {
  const file = ca ?? env['SLUICE_CA'];
  if (file === undefined || file === '') return undefined;
  if (!url.startsWith('wss://')) {
    if (ca === undefined) return undefined;
    throw new UsageError(`--ca is for wss:// addresses, got ${url}`);
  }
  const name = ca === undefined ? 'SLUICE_CA' : '--ca';
  const pem = readNamedFile(name, file);
  // Node ignores what is no certificate, and the connection would fail for a reason that names none of this.
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new UsageError(`${name} ${file} holds no certificate in PEM`);
  return pem;
}

function readNamedFile(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** What OpenSSL calls a chain that ends in an authority it does not trust. */
const unknownAuthority = /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER))/;

/** What newer versions of Node add to the problem: a flag of theirs, which sluice does not take. */
const nodeHint = '; if the root CA is installed locally, try running Node.js with --use-system-ca';

function withAuthorityHint(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(error instanceof Error && cause instanceof Error && 'code' in cause)) return error;
  if (!unknownAuthority.test(String(cause.code))) return error;
  const problem = error.message.replace(nodeHint, '');
  return new Error(`${problem}; if its authority is a private one, name that with --ca FILE`, { cause: error });
}

/** Why it is not known how a process ended. */
export async function lossText(client: Client): Promise<string> {
  const problem = await Promise.race([client.ended, Promise.resolve(undefined)]);
  if (problem === undefined) return 'the end of the process was not seen, so how it ended is not known';
  return `the server was lost (${problem}); its processes end with it, and how this one ended is not known`;
}
