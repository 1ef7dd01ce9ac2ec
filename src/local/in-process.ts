// A client connected directly to its own session in this process: no JSON, no wire, the same handlers.

import { addedTo } from '../base/added-to.js';
import { Client, type LinkListeners, type OutputDelta } from '../client/index.js';
import { RemoteFlows } from '../client/remote-flows.js';
import { type Method, type ProcessId, execError } from '../protocol/index.js';
import { Server, type ServerOptions } from '../server/server.js';
import { SessionWatch } from '../server/session-watch.js';
import { nodePlatform } from './node-platform.js';

/** Runs processes from within this program. Closing the client terminates all of them. */
export function connectInProcess(options: ServerOptions = {}): Client {
  const server = new Server(options);
  const session = server.openSession();
  const listeners = new Map<ProcessId, (delta: OutputDelta) => void>();
  const watches = new SessionWatch(session);
  const flows = new RemoteFlows();
  flows.table.attach(session.flows.table);
  session.flows.attach(flows.table, new Map());
  void server.closed.then((problem) => flows.table.close(problem ?? 'the client is closed'));
  const linkListeners = new Set<Partial<LinkListeners>>();
  const served = server.serviceOf(session, {
    // The client reads the session's logs itself; only watchers of all processes need to be notified of a start.
    delivery: {
      started: (target) => () => watches.follow(target, 0),
      startFailed: () => {},
      attached: () => () => {},
      findUnconfirmed: () => undefined,
      drop: () => {},
      end: () => {},
    },
    notify: {
      outputDelta: async (delta) => listeners.get(delta.processId)?.(delta),
      filesChanged: async (changed) => linkListeners.forEach((each) => each.filesChanged?.(changed)),
      portsChanged: async (changed) => linkListeners.forEach((each) => each.portsChanged?.(changed)),
      // Only Codex's client asks for these; it does not run in this program.
      missingChanged: async () => {},
      bodyDelta: async () => {},
      nothing: async () => {},
    },
  });
  const refuse = (method: Method) => async () => {
    throw execError('invalidRequest', { problem: `${method} needs a server: in-process, every process ends with this program` });
  };
  const service = {
    ...served,
    'process/release': refuse('process/release'),
    'process/restart': refuse('process/restart'),
  };
  return new Client(
    {
      service,
      release: service['process/release'],
      watch: (listener) => watches.watch(listener),
      onOutputDelta: (processId, listener) => {
        listeners.set(processId, listener);
        return { [Symbol.dispose]: () => void listeners.delete(processId) };
      },
      openFlow: () => flows.open(),
      listen: (each) => addedTo(linkListeners, each),
      follow: session.follow.bind(session),
      attach: async (params) => {
        const { process: status } = await service['process/attach'](params);
        const events = session.follow(params.processId, params.afterSeq ?? 0);
        if (params.follow === false) events.close();
        return { status, events };
      },
      // The caller has already closed its cursor, and nothing else blocks the process.
      detach: async (processId) => void (await service['process/detach']({ processId })),
      ended: server.closed,
      close: () => server.close(),
    },
    { clock: server.clock, platform: nodePlatform },
  );
}
