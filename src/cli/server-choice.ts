// The server of commands that look at processes others have started.

import type { AttachOptions, Client, ProcessHandle } from '../client/index.js';
import type { ProcessStatus } from '../protocol/index.js';
import { didYouMean } from './closest-name.js';
import { UsageError } from './command.js';
import { findDaemon } from './serve/daemon.js';
import { type ServerFlags, namedServer, openServer } from './server-options.js';

/** The named server, or else the user's own; undefined when that is not running. */
export async function chosenServer(flags: ServerFlags, tell?: (text: string) => void): Promise<Client | undefined> {
  const named = namedServer(flags, process.env);
  return named === undefined ? findDaemon() : openServer(named, flags, tell);
}

/** For commands that are about processes, which only a running server can have. */
export async function requireServer(flags: ServerFlags, tell?: (text: string) => void): Promise<Client> {
  const client = await chosenServer(flags, tell);
  if (client !== undefined) return client;
  throw new Error('no server is running, so there are no processes; start one with "sluice exec -d", or name one with --connect');
}

/** By its exact name, or as SESSION/NAME where two sessions use the same one. */
export async function findProcess(client: Client, name: string): Promise<ProcessStatus> {
  return pickProcess(await client.list({ scope: 'all' }), name);
}

/** The process under this name, wherever it was started. */
export function attachTo(
  client: Client,
  { processId, sessionId }: ProcessStatus,
  options: Omit<AttachOptions, 'sessionId'>,
): Promise<ProcessHandle> {
  return client.attach(processId, { ...options, ...(sessionId === undefined ? {} : { sessionId }) });
}

export function pickProcess(processes: readonly ProcessStatus[], name: string): ProcessStatus {
  const [only, second] = candidates(processes, name);
  if (only === undefined) {
    const names = processes.map(({ processId }) => processId);
    throw new UsageError(`there is no process "${name}"; ${didYouMean(name, names) ?? '"sluice ps" lists them'}`);
  }
  if (second === undefined) return only;
  throw new UsageError(`"${name}" can be ${qualifiedName(only)} or ${qualifiedName(second)}; say which`);
}

/** Unmistakable, also where two sessions use the same name. */
export function qualifiedName({ sessionId = '', processId }: ProcessStatus): string {
  return `${sessionId.slice(0, 8)}/${processId}`;
}

/** Running processes before ended ones. The beginning of a name is none: it would end or type into the wrong process. */
function candidates(processes: readonly ProcessStatus[], name: string): ProcessStatus[] {
  const exact = processes.filter((each) => each.processId === name || qualifiedName(each) === name);
  const running = exact.filter(({ state }) => state === 'running');
  return running.length > 0 ? running : exact;
}

/**
 * Before a process that is to outlive us is started: one that cannot have its name would otherwise run, and be ended again. A process that
 * has ended gives its name away as soon as its output has ended too.
 */
export async function requireFreeName(client: Client, name: string): Promise<void> {
  const namesakes = (await client.list({ scope: 'all' })).filter(({ processId }) => processId === name);
  if (namesakes.some(({ state }) => state === 'running')) {
    throw new UsageError(`${name} already runs; "sluice kill ${name}" ends it, "sluice restart ${name}" starts it again`);
  }
  for (const each of namesakes.filter(({ state }) => state === 'exited')) {
    await using handle = await attachTo(client, each, { follow: false });
    await handle.closed;
  }
}
