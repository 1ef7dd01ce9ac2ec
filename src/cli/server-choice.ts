// Chooses the server, and the process on it, for commands that work with existing processes.

import type { AttachOptions, Client, ProcessHandle } from '../client/index.js';
import type { ProcessStatus } from '../protocol/index.js';
import { didYouMean } from './closest-name.js';
import { UsageError } from './command.js';
import { findDaemon } from './serve/daemon.js';
import { type ServerFlags, namedServer, openServer } from './server-options.js';

/** The named server, or else the user's own; undefined when that is not running. */
export async function chosenServer(flags: ServerFlags, notify?: (text: string) => void): Promise<Client | undefined> {
  const named = namedServer(flags, process.env);
  return named === undefined ? findDaemon() : openServer(named, flags, notify);
}

/** For commands that need a process, and therefore a running server. */
export async function requireServer(flags: ServerFlags, notify?: (text: string) => void): Promise<Client> {
  const client = await chosenServer(flags, notify);
  if (client !== undefined) return client;
  throw new Error('no server is running, so there are no processes; start one with "sluice exec -d", or name one with --connect');
}

/** Finds a process by its exact name, or by SESSION/NAME when two sessions use the same name. */
export async function findProcess(client: Client, name: string): Promise<ProcessStatus> {
  return pickProcess(await client.list({ scope: 'all' }), name);
}

/** Attaches to the process, whichever session it belongs to. */
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
  throw new UsageError(`"${name}" is ambiguous; use ${qualifiedName(only)} or ${qualifiedName(second)}`);
}

/** Unambiguous even when two sessions use the same name. */
export function qualifiedName({ sessionId = '', processId }: ProcessStatus): string {
  return `${sessionId.slice(0, 8)}/${processId}`;
}

/** Running processes, or else ended ones. The beginning of a name does not match: it could end or type into the wrong process. */
function candidates(processes: readonly ProcessStatus[], name: string): ProcessStatus[] {
  const exact = processes.filter((each) => each.processId === name || qualifiedName(each) === name);
  const running = exact.filter(({ state }) => state === 'running');
  return running.length > 0 ? running : exact;
}

/**
 * Call before starting a process that will outlive us: one whose name is taken would otherwise start, only to be ended again. A process
 * that has ended frees its name once its output has ended too.
 */
export async function requireFreeName(client: Client, name: string): Promise<void> {
  const namesakes = (await client.list({ scope: 'all' })).filter(({ processId }) => processId === name);
  if (namesakes.some(({ state }) => state === 'running')) {
    throw new UsageError(`${name} is already running; "sluice kill ${name}" ends it, "sluice restart ${name}" starts it again`);
  }
  for (const each of namesakes.filter(({ state }) => state === 'exited')) {
    await using handle = await attachTo(client, each, { follow: false });
    await handle.closed;
  }
}
