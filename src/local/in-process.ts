// A client wired straight to a session of its own: no JSON, no wire, the same behaviour.

import { Client, type ExecLink, type OutputDelta } from '../client/index.js';
import { type Params, type ProcessId, execError } from '../protocol/index.js';
import { readParams } from '../protocol/read-params.js';
import { checkedCommands, checkedService } from '../server/dispatch.js';
import { Commands, Server, type ServerOptions, SessionWatch, createExecService } from '../server/index.js';

/** Runs processes from this program. Closing the client ends all of them. */
export function connectInProcess(options: ServerOptions = {}): Client {
  const server = new Server(options);
  const session = server.openSession();
  const listeners = new Map<ProcessId, (delta: OutputDelta) => void>();
  const commands = new Commands(session, async (delta) => listeners.get(delta.processId)?.(delta));
  const watches = new SessionWatch(session);
  const service = createExecService(session);
  const link: ExecLink = {
    service: checkedService({
      ...service,
      'process/start': (params) => {
        const starting = service['process/start'](params);
        const started = session.processes.find(params.processId);
        if (started !== undefined) watches.follow(started, 0);
        return starting;
      },
    }),
    watch: (listener) => watches.watch(listener),
    commands: checkedCommands(commands.service),
    onOutputDelta: (processId: ProcessId, listener: (delta: OutputDelta) => void) => {
      listeners.set(processId, listener);
      return { [Symbol.dispose]: () => void listeners.delete(processId) };
    },
    follow: session.follow.bind(session),
    attach: async (params: Params<'process/attach'>) => {
      const { processId, afterSeq, follow } = readParams('process/attach', params);
      const events = session.follow(processId, afterSeq ?? 0);
      if (follow === false) events.close();
      return { status: session.processes.get(processId).status(), events };
    },
    detach: async () => {}, // closing the cursor was all
    release: async () => {
      throw execError('methodNotFound', { method: 'process/release' }); // nothing here outlives this program
    },
    restart: async () => {
      throw execError('methodNotFound', { method: 'process/restart' }); // which only released processes can be
    },
    ended: server.closed,
    close: () => server.close(),
  };
  return new Client(link, { clock: server.clock });
}
