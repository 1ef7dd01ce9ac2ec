// ExecService on a session: one short handler per method. Calls that must keep their order take effect before the first await.

import { shownValue } from '../base/shown-value.js';
import { type LogEntry, type LogPage, type ManagedProcess, type Started, parseSignal } from '../process/index.js';
import { type ExecService, type Page, type Params, execError } from '../protocol/index.js';
import { environmentInfo } from './environment-info.js';
import { type Session, exitFacts } from './session.js';
import { processOptions } from './start-request.js';
import { Waits } from './waits.js';

/** `waits` ends pending waits when the caller goes away; without it they last until their own deadlines. */
export function createExecService(session: Session, waits: Waits = new Waits(session.clock)): ExecService {
  const { processes } = session;

  return {
    'process/start': async (params) => {
      const { pid } = startProcess(session, params).process;
      return { processId: params.processId, sandboxType: 'none', pid };
    },

    'process/read': async ({ processId, afterSeq, afterBytes, maxBytes, waitMs, until }) => {
      const target = processes.get(processId);
      const cursor = afterSeq ?? 0;
      await waits.until(target, () => target.log.nextSeq > cursor + 1 || hasReached(target, until), waitMs ?? 0);
      return pageOf(target, target.log.readAfter(cursor, maxBytes ?? Infinity, afterBytes ?? undefined));
    },

    'process/write': async ({ processId, chunk, writeId, retry }) => {
      const target = processes.find(processId);
      if (target === undefined) return { accepted: false, status: 'unknownProcess' };
      const status = await target.write(chunk, writeId ?? undefined, retry === true ? 'again' : 'first');
      return { accepted: status === 'accepted', status };
    },

    'process/closeStdin': async ({ processId }) => ({ status: processes.get(processId).closeStdin() }),

    'process/resize': async ({ processId, size }) => {
      processes.get(processId).resize(size);
      return {};
    },

    'process/signal': async ({ processId, signal }) => {
      const name = parseSignal(signal);
      if (name === undefined)
        throw execError('invalidParams', { problem: `signal must be a POSIX name such as SIGINT, got ${shownValue(signal)}` });
      return { delivered: (await processes.find(processId)?.signal(name)) ?? false };
    },

    'process/terminate': async ({ processId, force, timeoutMs }) => ({
      running: processes.find(processId)?.terminate('terminated', force === true ? 0 : (timeoutMs ?? undefined)) ?? false,
    }),

    'process/wait': (params) => waitForEnd(params),

    'process/snapshot': async ({ processId }) => {
      const { log, ending } = processes.get(processId);
      const streams = (['stdout', 'stderr', 'pty'] as const).flatMap((stream) => {
        const retained = log.retained(stream);
        return retained === undefined ? [] : [[stream, retained] as const];
      });
      const exit = ending === undefined ? { exitCode: null } : exitFacts(ending);
      return { streams: Object.fromEntries(streams), nextSeq: log.nextSeq, running: ending === undefined, ...exit };
    },

    'process/forget': async ({ processId }) => ({ forgotten: processes.forget(processId) }),

    'process/list': async () => ({ processes: processes.list().map((each) => each.status()) }),

    'environment/info': async () => environmentInfo(session),

    'environment/status': async () => ({ status: 'ready' }),
  };

  async function waitForEnd({ processId, timeoutMs, until }: Params<'process/wait'>) {
    const target = processes.get(processId);
    const isDone = () => hasReached(target, until) || (until === 'stdoutEnded' && target.log.hasEnded('stdout'));
    await waits.until(target, isDone, timeoutMs ?? Infinity);
    const { ending } = target;
    return { running: !hasReached(target, until), ...(ending === undefined ? {} : { ending }) };
  }
}

/** `requireRoom` is called before a new process is started; for `kept`, see `StartOnce`. */
export function startProcess(
  session: Session,
  params: Params<'process/start'>,
  { kept, requireRoom }: { readonly kept?: ManagedProcess | undefined; readonly requireRoom?: () => void } = {},
): Started {
  const { processId: id, retry, argv, prepared } = params;
  if (session.isClosed) throw execError('sessionClosed', { sessionId: session.id });
  const options = () => {
    requireRoom?.();
    return processOptions(params, session.surroundings, session.policy);
  };
  return session.processes.startOnce({ id, retriedArgv: retry === true ? (argv ?? prepared?.argv) : undefined, kept, options });
}

function hasReached({ isClosed, ending }: ManagedProcess, until: Params<'process/wait'>['until']): boolean {
  return until === 'closed' ? isClosed : ending !== undefined;
}

function pageOf(target: ManagedProcess, { entries, nextSeq, fromBytes, nextBytes, droppedBytes }: LogPage): Page {
  // A poller stops at `exited`, so a page that maxBytes cut short must not report it yet.
  const isAtEnd = nextSeq === target.log.nextSeq;
  const ending = isAtEnd ? target.ending : undefined;
  const { exitCode, signal } = ending === undefined ? { exitCode: null } : { signal: undefined, ...exitFacts(ending) };
  const chunks = chunksOf(entries, fromBytes);
  const firstSeq = chunks.find((each) => each.droppedBytes !== undefined)?.seq;
  return {
    chunks,
    nextSeq,
    nextBytes,
    ...(firstSeq === undefined ? {} : { firstSeq }),
    droppedBytes,
    exited: ending !== undefined,
    exitCode,
    ...(signal === undefined ? {} : { signal }),
    closed: isAtEnd && target.isClosed,
    failure: null,
    sandboxDenied: false,
  };
}

/** Each chunk with the bytes missing since the previous chunk, even if the exit lies between them. */
function chunksOf(entries: readonly LogEntry[], fromBytes: number): Page['chunks'] {
  let endBytes = fromBytes;
  return entries.flatMap((entry) => {
    if (entry.kind !== 'chunk') return [];
    const droppedBytes = entry.offset - endBytes;
    endBytes = entry.offset + entry.bytes.length;
    const missing = droppedBytes === 0 ? {} : { droppedBytes };
    return [{ seq: entry.seq, stream: entry.stream, chunk: entry.bytes, ...missing }];
  });
}
