// Starts a server as a child and talks to it over its standard streams: on this machine, over ssh, or inside a container.

import { type ChildProcess, spawn } from 'node:child_process';
import { type Client, type ConnectOptions, connectOver } from '../client/index.js';
import { StreamChannel } from '../transport/stream-channel.js';
import { receivedMessageBytes } from './connect.js';

export interface LaunchOptions extends Omit<ConnectOptions, 'token'> {
  readonly command: string;
  /** As in `["host", "sluice", "serve", "--listen", "stdio"]` for ssh. */
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** This program's environment when absent. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where the server's own messages go; to our stderr when absent. */
  readonly stderr?: 'inherit' | 'ignore';
}

/** How long a server may take to end its processes once its stdin has ended. */
const endPatienceMs = 10_000;

/** Closing the client ends the server. A server that dies takes its processes with it, and every handle ends as `lost`. */
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
  const channel = new StreamChannel({ ...streams, peer: command, maxMessageBytes: receivedMessageBytes });
  const ended = channel.closed.then(async () => endServer(server, exited));
  const opened = connectOver({ open: async () => channel, again: 'impossible', closed: () => ended }, connect);
  try {
    return await opened;
  } catch (cause) {
    channel.close();
    throw new Error(`cannot launch a server with "${[command, ...args].join(' ')}": ${await exited}`, { cause });
  }
}

async function endServer(server: ChildProcess, exited: Promise<string>): Promise<void> {
  const impatience = setTimeout(() => server.kill('SIGKILL'), endPatienceMs);
  await exited;
  clearTimeout(impatience);
}
