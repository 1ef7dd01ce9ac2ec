// Records in the log and the metrics that a process was started, by which caller, and how it ended.

import type { LogFields, Logger } from '../base/logger.js';
import type { ManagedProcess } from '../process/index.js';
import type { Ending } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import { processStartFields } from './logger.js';
import type { Metrics } from './metrics.js';
import type { Identity } from './session-table.js';

export interface JournalContext {
  readonly connection: Connection;
  readonly identity: Identity;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Logs the start now, and the ending when the process ends. `program` is what the caller asked for, even when a sandbox runs it. */
export function recordProcess(started: ManagedProcess, program: string, context: JournalContext): void {
  const { connection, identity, logger, metrics } = context;
  const caller = { subject: identity.subject, peer: connection.channel.peer };
  const fields = { ...processStartFields({ processId: started.id, program, pid: started.pid }), ...caller };
  logger.info('process started', fields);
  void started.exited.then((ending) => {
    metrics.ended(ending.reason);
    logger.info('process ended', { ...fields, ...endingFields(ending) });
  });
}

function endingFields(ending: Ending): LogFields {
  const { kind, reason, outputComplete, startedAt, endedAt } = ending;
  const facts = { reason, outputComplete, ranMs: endedAt - startedAt };
  switch (kind) {
    case 'code':
      return { exitCode: ending.code, ...facts };
    case 'signal':
      return { signal: ending.signal, ...facts };
    case 'lost':
      return { isLost: true, ...facts };
  }
}
