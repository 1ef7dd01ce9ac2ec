// TCP's own probes, answered by the other machine's kernel: they tell a host that has vanished from a program that is stopped.

import type { Socket } from 'node:net';

/** Idle time before the first probe. Node sends ten more, a second apart, and then ends the connection. */
const idleMs = 15_000;

export function probeWhenIdle(socket: Socket): void {
  socket.setKeepAlive(true, idleMs);
}
