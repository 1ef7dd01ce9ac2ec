// Processes that outlive the session they were started in: handed over to a session without a connection, and started again there.

import { type Params, type Result, execError } from '../protocol/index.js';
import type { AttachmentContext } from './attachment.js';
import type { Session } from './session.js';

/** Throws `tooManyProcesses` when the caller's sessions together run as many as they may. */
export function requireRoom({ sessions, identity, maxProcessesPerCaller: limit }: AttachmentContext): void {
  if (sessions.runningCount(identity) >= limit) throw execError('tooManyProcesses', { limit });
}

export function releaseProcess(
  { processId, replace, keepMs }: Params<'process/release'>,
  { session, sessions, identity }: AttachmentContext,
): Result<'process/release'> {
  const released = sessions.releasedSession(identity);
  // Asked again because the answer was lost with a connection: it is where it was to go.
  const isThere = session.processes.find(processId) === undefined && released.processes.find(processId) !== undefined;
  if (isThere) return { sessionId: released.id };
  const options = { replace: replace ?? undefined, keepMs: keepMs ?? undefined };
  const isReplaced = session.processes.moveTo(released.processes, processId, options);
  return { sessionId: released.id, ...(isReplaced ? { replaced: true } : {}) };
}

/** In its own session an ordinary process is followed by its owner, which would take the new one's events for the old one's. */
export async function restartProcess(
  owner: Session,
  { processId, timeoutMs }: Params<'process/restart'>,
  context: AttachmentContext,
): Promise<Result<'process/restart'>> {
  const target = owner.processes.get(processId);
  if (!context.sessions.isReleasedSession(owner)) throw execError('notRestartable', { processId });
  if (target.isClosed) requireRoom(context); // one that still runs makes room for itself
  const started = await owner.processes.restart(processId, timeoutMs ?? undefined);
  context.onStarted(started, started.request.program);
  return { processId, pid: started.pid };
}
