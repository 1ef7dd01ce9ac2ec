// Processes that outlive the session they were started in: they move to a session without a connection, and can be restarted there.

import { type Params, type Result, execError } from '../protocol/index.js';
import type { AttachmentContext } from './attachment.js';
import type { Session } from './session.js';

/** Throws `tooManyProcesses` when the caller's sessions together have reached the limit. */
export function requireRoom({ sessions, identity, maxProcessesPerCaller: limit }: AttachmentContext): void {
  if (sessions.runningCount(identity) >= limit) throw execError('tooManyProcesses', { limit });
}

export function releaseProcess(
  { processId, replace, keepMs }: Params<'process/release'>,
  { session, sessions, identity }: AttachmentContext,
): Result<'process/release'> {
  const released = sessions.releasedSession(identity);
  // A repeated call, because the reply was lost with a connection: the process has already moved.
  const isReleased = session.processes.find(processId) === undefined && released.processes.find(processId) !== undefined;
  if (isReleased) return { sessionId: released.id };
  const options = { replace: replace ?? undefined, keepMs: keepMs ?? undefined };
  const isReplaced = session.processes.moveTo(released.processes, processId, options);
  return { sessionId: released.id, ...(isReplaced ? { replaced: true } : {}) };
}

/** Only for released processes. The owner of another one follows it, and would mistake the new process's events for the old one's. */
export async function restartProcess(
  owner: Session,
  { processId, timeoutMs }: Params<'process/restart'>,
  context: AttachmentContext,
): Promise<Result<'process/restart'>> {
  const target = owner.processes.get(processId);
  if (!context.sessions.isReleasedSession(owner)) throw execError('notRestartable', { processId });
  if (target.isClosed) requireRoom(context); // a running one frees its own slot
  const started = await owner.processes.restart(processId, timeoutMs ?? undefined);
  context.onStarted(started, started.request.program);
  return { processId, pid: started.pid };
}
