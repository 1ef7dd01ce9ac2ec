// What the server may keep in memory, and what may not happen to a log any more, checked after every event.

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

/** Streams of a process. */
const streams = 2;

export function watchMemory(world: World, { server, backend, limits }: Watched): void {
  const { retainedBytes, headBytes, readerWindowBytes, stdinCapBytes } = limits;
  // A piece that is read just below the window, and what a dead leader has left in its pipes, which is read in any case, together
  // with what descendants write meanwhile.
  const mostUnread = readerWindowBytes + readBytes + streams * (pipeBytes + readBytes);
  // Beginnings are kept up to the chunk that crosses their limit.
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
          if (nextSeq !== each.log.nextSeq) world.fail(`something comes after closed of ${each.id}`);
        }
        const isHeld = backend.find(each.id)?.program.isHeld === true;
        if (isHeld && unreadBytes <= readerWindowBytes / 2) world.fail(`${each.id} is held back by nobody`);
        // What one that has ended left is little, and is read to its end.
        const isRunning = each.ending === undefined;
        if (!isHeld && unreadBytes >= readerWindowBytes && isRunning) world.fail(`${each.id} is not held back`);
      }
    }
  });
}
