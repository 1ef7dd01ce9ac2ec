// TCP keep-alive probes. The peer's kernel answers them, so they detect a host that has vanished, but not a program that is stopped.

import type { Socket } from 'node:net';

/** Idle time before the first probe. Node's settings add ten more, one second apart, before the connection is closed. */
const idleMs = 15_000;

export function probeWhenIdle(socket: Socket): void {
  socket.setKeepAlive(true, idleMs);
}
