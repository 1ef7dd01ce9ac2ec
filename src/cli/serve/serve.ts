// `sluice serve`: runs a server in the foreground until it is asked to stop or, on stdio, until its client is gone.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { FrontDoor, Server, ServerMetrics, createLogger, version } from '../../server/index.js';
import { StreamChannel, reachOf } from '../../transport/index.js';
import { type Command, UsageError, type Word, readFlags, settingsIn } from '../command.js';
import { ownFailure } from '../exit-status.js';
import { onSignals } from '../inherited-signals.js';
import { complain, print } from '../own-output.js';
import { type ServeConfig, readServeConfig } from './config.js';
import { backgroundOptions, serveManual } from './manual.js';
import { serveOptions } from './options.js';

/** Signals that request a graceful shutdown: no new connections, processes asked to end, exit code 0. */
const endingSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** How often a server with an idle timeout checks whether it is in use. */
const idleLookMs = 1_000;

/** Delay of work that is not needed to answer the first requests. */
const settledMs = 250;

export const serve: Command = { manual: serveManual, execute };

async function execute(words: readonly Word[]): Promise<number> {
  const asked = readFlags(backgroundOptions, settingsIn(words));
  if (asked.stop) return stop(words);
  const config = readServeConfig({ words, env: process.env, readText: (file) => readFileSync(file, 'utf8') });
  if (asked.daemon) return daemonise(words);
  await run(config);
  // A stderr without a reader would keep the program alive for its last lines.
  process.exit(0);
}

async function stop(words: readonly Word[]): Promise<number> {
  if (words.length > 1) throw new UsageError('--stop takes no other options');
  const { stopDaemon } = await import('./daemon.js');
  if (!(await stopDaemon())) await complain('no background server is running');
  return 0;
}

/** The config has been validated by now, so that mistakes are reported here and not in a log. */
async function daemonise(words: readonly Word[]): Promise<number> {
  const { findDaemon, startDaemon } = await import('./daemon.js');
  const running = await findDaemon();
  if (running !== undefined) {
    await running.close();
    throw new Error('a background server is already running; "sluice serve --stop" stops it');
  }
  const flags = words.flatMap((word) => (word.kind === 'option' && word.name !== 'daemon' ? [spelled(word)] : []));
  for (const address of await startDaemon(flags, process.cwd())) await print(`${address}\n`);
  return 0;
}

function spelled({ name, text }: Extract<Word, { kind: 'option' }>): string {
  const isToggle = serveOptions.get(name)?.kind === 'toggle';
  return isToggle ? `--${text === 'true' ? '' : 'no-'}${name}` : `--${name}=${text}`;
}

async function run(config: ServeConfig): Promise<void> {
  await using logger = createLogger({ level: config.logLevel });
  if (config.logLevel !== 'silent') endWithFaults(logger);
  for (const warning of config.warnings) logger.warn(warning);
  const metrics = new ServerMetrics();
  const { limits, policy, files, network } = config;
  const server = new Server({
    limits,
    policy,
    files,
    network,
    metrics,
    logger,
    orphans: 'adopt',
    malloc: 'tuned',
    hiddenPaths: hiddenPaths(config),
    isOpenOnNetwork: isOpenOnNetwork(config),
  });
  await server.openRoots();
  const listen = config.listen.flatMap((endpoint) => (endpoint.kind === 'stdio' ? [] : [endpoint]));
  const { credentials, tls, allowedOrigins, allowedHosts, metricsAccess } = config;
  const access = { credentials, tls, allowedOrigins, allowedHosts, metricsAccess };
  const door = await FrontDoor.open(server, { listen, ...access, metrics, logger });
  const isOnStdio = listen.length < config.listen.length;
  // Before a client can know that the server is running, and so before it can be asked to stop.
  const asked = askedToEnd();
  // On stdio every line of stdout is a message, so the addresses go to the log only.
  if (!isOnStdio) {
    try {
      await print(door.urls.map((url) => `${url}\n`).join(''));
    } catch (error) {
      await Promise.all([door.close(), server.close()]); // a server without known addresses is of no use
      throw error;
    }
  }
  logger.info('listening', { version, urls: [...door.urls, ...(isOnStdio ? ['stdio'] : [])].join(' ') });
  settleLater(server);
  const reason = await Promise.race([asked, ...(isOnStdio ? [servedStdio(server)] : []), ...idling(server, config)]);
  logger.info('shutting down', { reason });
  await Promise.all([door.close(), server.close()]);
}

/** Resolves to the first of these signals. The next one ends this program at once, as it would without a listener. */
function askedToEnd(): Promise<string> {
  return new Promise((resolve) => {
    const listening = onSignals(endingSignals, (signal) => {
      listening[Symbol.dispose]();
      resolve(signal);
    });
  });
}

/** Retries after a failure: a program that is out of descriptors cannot load anything. */
function settleLater(server: Server): void {
  setTimeout(() => void settle(server).catch(() => settleLater(server)), settledMs).unref();
}

async function settle(server: Server): Promise<void> {
  const { settleServer } = await import('../engine.js');
  await settleServer();
  const { collectDeadMemory } = await import('./dead-memory.js');
  const gauges = server.gauges();
  collectDeadMemory({
    liveBytes: () => gauges.retainedBytes() + gauges.stdinQueuedBytes() + gauges.sendQueuedBytes(),
    returnFreePages: () => server.returnFreePages(),
  });
}

/** After an internal fault nothing can be relied on: it is logged as an ordinary line, and ends the server and everything it started. */
function endWithFaults(logger: Awaited<ReturnType<typeof createLogger>>): void {
  const report = async (error: Error) => {
    logger.error('the server has failed', { problem: error.stack ?? String(error) });
    await logger[Symbol.asyncDispose]();
    process.exit(ownFailure);
  };
  process.once('uncaughtException', (error) => void report(error));
}

/** A sandboxed command that reached one of these could run anything outside. The sandbox hides the background server's folder anyway. */
function hiddenPaths({ listen }: ServeConfig): string[] {
  return listen.flatMap((endpoint) => ('path' in endpoint ? [endpoint.path] : []));
}

function isOpenOnNetwork({ listen, credentials }: ServeConfig): boolean {
  return credentials.kind === 'none' && listen.some((endpoint) => reachOf(endpoint) !== 'user');
}

/** Resolves after the idle timeout; empty when there is none. */
function idling(server: Server, { idleExitMs }: ServeConfig): Promise<string>[] {
  return idleExitMs === 0 ? [] : [unneeded(server, idleExitMs)];
}

async function unneeded(server: Server, idleExitMs: number): Promise<string> {
  const gauges = server.gauges();
  const isNeeded = () => gauges.connections() > 0 || Object.values(gauges.processes()).some((count) => count > 0);
  for (let neededAt = performance.now(); performance.now() - neededAt < idleExitMs;) {
    await sleep(Math.min(idleLookMs, idleExitMs), undefined, { ref: false });
    if (isNeeded()) neededAt = performance.now();
  }
  return 'idle timeout';
}

/** Serves the one client of a server on stdio, and resolves when that client is gone. */
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
