// `sluice serve`: a server in the foreground until it is asked to end, or, on stdio, until its client has gone.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { FrontDoor, Server, ServerMetrics, createLogger, version } from '../server/index.js';
import { StreamChannel } from '../transport/index.js';
import { type ServeConfig, readServeCommand } from './serve-config.js';

/** Requests to end in good order: no new connections, processes asked to end, exit code 0. */
const endingSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export async function serve(args: readonly string[]): Promise<number> {
  const command = readServeCommand({ args, env: process.env, readText: (file) => readFileSync(file, 'utf8') });
  if (command.kind === 'help') {
    process.stdout.write(command.text);
    return 0;
  }
  await run(command.config);
  // A stderr that nobody reads any more would keep the program alive for its last lines.
  process.exit(0);
}

async function run(config: ServeConfig): Promise<void> {
  await using logger = await createLogger({ level: config.logLevel });
  for (const warning of config.warnings) logger.warn(warning);
  const metrics = new ServerMetrics();
  const server = new Server({ limits: config.limits, policy: config.policy, metrics, logger });
  const listen = config.listen.flatMap((endpoint) => (endpoint.kind === 'stdio' ? [] : [endpoint]));
  const { credentials, tls, allowedOrigins, allowedHosts, metricsAccess } = config;
  const door = await FrontDoor.open(server, { listen, credentials, tls, allowedOrigins, allowedHosts, metricsAccess, metrics });
  const isOnStdio = listen.length < config.listen.length;
  // Before anybody can know that the server is there, and so ask it to end.
  const asked = endingSignals.map(async (signal) => signalled(signal));
  // On stdio every line of stdout is a message, so the addresses go to the log only.
  if (!isOnStdio) process.stdout.write(door.urls.map((url) => `${url}\n`).join(''));
  logger.info('listening', { version, urls: [...door.urls, ...(isOnStdio ? ['stdio'] : [])].join(' '), backend: server.backend });
  const reason = await Promise.race([...asked, ...(isOnStdio ? [servedStdio(server)] : [])]);
  logger.info('shutting down', { reason });
  const closing = server.close({ forceAfterMs: config.limits.forceAfterMs });
  await Promise.all([door.close(), closing]);
}

async function signalled(signal: (typeof endingSignals)[number]): Promise<string> {
  await once(process, signal);
  return signal;
}

/** The one client of a server on stdio; when it has gone, so may the server. */
async function servedStdio(server: Server): Promise<string> {
  const { stdin, stdout } = process;
  const channel = new StreamChannel({
    readable: stdin,
    writable: stdout,
    peer: 'stdio',
    maxMessageBytes: server.limits.maxMessageBytes,
  });
  server.accept(channel);
  const { problem } = await channel.closed;
  return problem ?? 'stdin ended';
}
