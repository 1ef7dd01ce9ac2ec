// The calls about ports: which ones programs of this machine listen on, and connections to them.

import { joinSocket } from '../../transport/joined-socket.js';
import type { CallContext, CallGroup, MethodsOf } from './call-group.js';
import { listeningSockets } from './listening-sockets.js';
import { connectPort } from './opened-port.js';
import { findOwners } from './port-owners.js';
import { PortPoll } from './port-poll.js';
import { PortWatch } from './port-watch.js';

export function createPortCalls(context: CallContext): CallGroup<MethodsOf<'ports'>> {
  const { machine, session, notify } = context;
  const { clock } = session;
  machine.portPoll ??= new PortPoll(clock);
  const poll = machine.portPoll;
  let watch: PortWatch | undefined;
  const unwatch = (): void => {
    if (watch !== undefined) poll.remove(watch);
    watch = undefined;
  };
  return {
    calls: {
      'ports/list': async () => {
        const sockets = await listeningSockets();
        const { byInode } = await findOwners(context, sockets);
        return { ports: sockets.map(({ port, address, inode }) => ({ port, address, ...byInode.get(inode) })) };
      },
      'ports/watch': async (_params, afterReply) => {
        unwatch();
        const created = new PortWatch(context, (change) => notify.portsChanged(change));
        watch = created;
        await created.update(await listeningSockets());
        // Begins after the reply, so that the first change is one from what the reply says.
        afterReply(() => watch === created && poll.add(created));
        return { ports: created.ports };
      },
      'ports/unwatch': async () => {
        unwatch();
        return {};
      },
    },
    flowCalls: {
      'ports/open': async (params, flow) => {
        const socket = await connectPort(params, { machine, clock });
        void joinSocket(socket, flow);
        return {};
      },
    },
    end: unwatch,
  };
}
