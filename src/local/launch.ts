// Starts a server as a child process and connects over its standard streams: on this machine, over ssh, or inside a container.

import { type ChildProcess, spawn } from 'node:child_process';
import { type Clock, systemClock } from '../base/clock.js';
import { type Client, type ConnectOptions, connectOver } from '../client/index.js';
import { CallTimeoutError } from '../rpc/rpc-error.js';
import { StreamChannel } from '../transport/stream-channel.js';
import { receivedMessageBytes } from './connect.js';
import { nodePlatform } from './node-platform.js';

export interface LaunchOptions extends Omit<ConnectOptions, 'token'> {
  readonly command: string;
  /** For ssh, for example, `["host", "sluice", "serve", "--listen", "stdio"]`. */
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** This program's environment when absent. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where the server's own messages go. `inherit`, our stderr, when absent. */
  readonly stderr?: 'inherit' | 'ignore';
}

/** How long a server may take to terminate its processes once its stdin has ended. */
const endPatienceMs = 10_000;

/** How long a program that is not a server may take to end: long enough for its own exit code, which says more than SIGKILL. */
const refusedPatienceMs = 1_000;

/** Closing the client ends the server. If the server dies, so do its processes, and every handle ends as `lost`. */
export async function launchServer(options: LaunchOptions): Promise<Client> {
  const { command, args = [], cwd, env, stderr = 'inherit', ...connect } = options;
  const server = spawn(command, args, {
    stdio: ['pipe', 'pipe', stderr],
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: { ...env } }),
  });
  const exited = new Promise<string>((resolve) => {
    server.once('error', (error) => resolve(error.message));
    server.once('exit', (code, signal) => resolve(`${command} ended with ${signal ?? `code ${code}`}`));
  });
  const streams = { readable: server.stdout, writable: server.stdin };
  const { clock = systemClock } = connect;
  const channel = new StreamChannel({ ...streams, peer: command, maxMessageBytes: receivedMessageBytes, clock });
  const launched = { server, exited, clock };
  const ended = channel.closed.then(async () => endServer(launched, endPatienceMs));
  const opened = connectOver({ open: async () => channel, again: 'impossible', closed: () => ended }, connect, nodePlatform);
  try {
    return await opened;
  } catch (cause) {
    // A program that never answered is killed at once, because the caller's timeout has already passed.
    const isSilent = cause instanceof CallTimeoutError;
    channel.destroy('the server could not be launched');
    const problem = await endServer(launched, isSilent ? 0 : refusedPatienceMs);
    throw new Error(`cannot launch a server with "${[command, ...args].join(' ')}": ${isSilent ? cause.message : problem}`, {
      cause,
    });
  }
}

interface Launched {
  readonly server: ChildProcess;
  /** Resolves with how the program ended. */
  readonly exited: Promise<string>;
  readonly clock: Clock;
}

/** Waits for the program to end, and kills it after `patienceMs`. */
async function endServer({ server, exited, clock }: Launched, patienceMs: number): Promise<string> {
  const impatience = clock.after(patienceMs, () => server.kill('SIGKILL'));
  const problem = await exited;
  impatience.cancel();
  return problem;
}
