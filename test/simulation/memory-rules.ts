// Limits on the server's memory, and on changes to a closed log, checked after every event.

import type { Server } from '#src/server/index.js';
import type { SimulatedBackend } from './backend.js';
import { pipeBytes, readBytes } from './pipe.js';
import type { World } from './world.js';

interface Watched {
  readonly server: Server;
  readonly backend: SimulatedBackend;
  readonly limits: {
    readonly retainedBytes: number;
    readonly headBytes: number;
    readonly readerWindowBytes: number;
    readonly stdinCapBytes: number;
  };
}

const streams = 2;

export function watchMemory(world: World, { server, backend, limits }: Watched): void {
  const { retainedBytes, headBytes, readerWindowBytes, stdinCapBytes } = limits;
  // Allows for one piece read just below the window, and for what a dead leader has left in its pipes, which is read in any case, together
  // with what descendants write in the meantime.
  const mostUnread = readerWindowBytes + readBytes + streams * (pipeBytes + readBytes);
  // The head is kept up to the chunk that crosses its limit.
  const mostKept = streams * (headBytes + 64 * 1024);
  const closedAt = new Map<string, number>();
  world.addCheck(() => {
    for (const { processes } of server.sessions.all()) {
      for (const each of processes.list()) {
        const { unreadBytes, retainedBytes: retained } = each.log;
        const bound = Math.max(retainedBytes, mostKept + unreadBytes);
        if (retained > bound) world.fail(`${each.id} retains ${retained} bytes; ${bound} are allowed`);
        if (unreadBytes > mostUnread)
          world.fail(`${unreadBytes} bytes of ${each.id} wait for a reader; ${mostUnread} are allowed`);
        if (each.stdinQueuedBytes > stdinCapBytes) world.fail(`${each.stdinQueuedBytes} bytes wait for ${each.id} to read them`);
        if (each.isClosed) {
          const nextSeq = closedAt.get(each.id) ?? each.log.nextSeq;
          closedAt.set(each.id, nextSeq);
          if (nextSeq !== each.log.nextSeq) world.fail(`the log of ${each.id} grows after closed`);
        }
        const isHeld = backend.find(each.id)?.program.isHeld === true;
        if (isHeld && unreadBytes <= readerWindowBytes / 2) world.fail(`${each.id} is held back although no reader lags`);
        // What an ended process left in its pipes is little, and is read to the end even beyond the window.
        const isRunning = each.ending === undefined;
        if (!isHeld && unreadBytes >= readerWindowBytes && isRunning) world.fail(`${each.id} is not held back`);
      }
    }
  });
}
