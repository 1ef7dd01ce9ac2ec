// Connects to a port or a Unix socket of this machine on behalf of a caller, as far as the operator allows it.

import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type Socket, connect } from 'node:net';
import { isAbsolute } from 'node:path';
import type { Clock } from '../../base/clock.js';
import { type Params, execError } from '../../protocol/index.js';
import { fileFailureOf } from './file-failure.js';
import type { Machine } from './machine.js';
import { resolveAllowed } from './network-rule.js';

/** How long one address may take to answer. Loopback answers at once; a host that was opened by name may be far away. */
const connectMs = 10_000;

export interface ConnectContext {
  readonly machine: Machine;
  readonly clock: Clock;
}

/** The socket allows half-open connections. */
export async function connectPort(params: Params<'ports/open'>, context: ConnectContext): Promise<Socket> {
  const { port, path, host } = params;
  const { network } = context.machine;
  if (network.forward !== 'on') {
    throw execError('networkRefused', { problem: 'this server does not forward connections; start it with --allow-forward' });
  }
  const isPort = port !== undefined && port !== null;
  const isPath = path !== undefined && path !== null;
  if (isPort === isPath) throw execError('invalidParams', { problem: 'ports/open needs either a port or a path' });
  if (isPath) return connectPath(path, context);
  const addresses = await resolveAllowed({ host: host ?? undefined, port: port ?? 0 }, { policy: network });
  return connectFirst(
    addresses.map((address) => ({ host: address, port: port ?? 0 })),
    `${host ?? 'localhost'}:${port}`,
    context.clock,
  );
}

type Target = { readonly host: string; readonly port: number } | { readonly path: string };

/** Tries one address after another. */
async function connectFirst(targets: readonly Target[], shown: string, clock: Clock): Promise<Socket> {
  let failure: unknown;
  for (const target of targets) {
    try {
      return await connectTo(target, clock);
    } catch (error) {
      failure = error;
    }
  }
  const errno = failure instanceof Error && 'code' in failure ? String(failure.code) : undefined;
  const reason = errno ?? (failure instanceof Error ? failure.message : 'no address');
  const problem = `cannot connect to ${shown}: ${reason}`;
  throw execError('networkFailed', { problem, ...(errno === undefined ? {} : { errno }) }, { cause: failure });
}

function connectTo(target: Target, clock: Clock): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, allowHalfOpen: true, noDelay: true });
    const impatience = clock.after(connectMs, () => socket.destroy(new Error(`no answer within ${connectMs} ms`)));
    // Stays: without a listener, an error before the socket is joined would end this program.
    socket.on('error', (error) => {
      impatience.cancel();
      reject(error);
    });
    socket.once('connect', () => {
      impatience.cancel();
      resolve(socket);
    });
  });
}

/** Opens the file without following it any further; Linux only, and not named by Node. */
const O_PATH = 0o10000000;

/**
 * The file is opened first, judged, and connected to through its descriptor, so that it cannot be replaced in between. Where there is no
 * such way, servers with roots are refused by the files layer.
 */
async function connectPath(path: string, { machine, clock }: ConnectContext): Promise<Socket> {
  if (!isAbsolute(path)) throw execError('invalidParams', { problem: `path must be absolute, got "${path}"` });
  const handle = await openSocketFile(path, machine);
  try {
    const facts = await (handle === undefined ? statOf(path) : handle.stat());
    if (!facts.isSocket()) throw execError('networkRefused', { problem: `"${path}" is not a Unix socket` });
    if (await isOneOf(machine.ownSockets, facts)) {
      throw execError('networkRefused', { problem: `"${path}" is a socket of this server itself` });
    }
    const target = handle === undefined ? path : `/proc/self/fd/${handle.fd}`;
    return await connectFirst([{ path: target }], `"${path}"`, clock);
  } finally {
    await handle?.close();
  }
}

/** Undefined elsewhere than on Linux. */
async function openSocketFile(path: string, machine: Machine): Promise<FileHandle | undefined> {
  try {
    if (machine.files.roots === undefined) return process.platform === 'linux' ? await open(path, O_PATH) : undefined;
    const { paths } = await machine.shared();
    const place = await paths.at(await paths.realPath(path), { links: 'refuse', for: 'read', hold: 'always' });
    try {
      return await open(place.path, O_PATH | constants.O_NOFOLLOW);
    } finally {
      place.close();
    }
  } catch (error) {
    throw failureToOpen(path, error);
  }
}

async function statOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    throw failureToOpen(path, error);
  }
}

function failureToOpen(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return fileFailureOf(error);
  const errno = String(error.code);
  return execError('networkFailed', { problem: `cannot connect to "${path}": ${errno}`, errno }, { cause: error });
}

async function isOneOf(paths: readonly string[], { dev, ino }: Stats): Promise<boolean> {
  const own = await Promise.all(paths.map((path) => stat(path).catch(() => undefined))); // one may have been removed
  return own.some((each) => each?.dev === dev && each.ino === ino);
}
