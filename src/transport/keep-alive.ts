// TCP keep-alive probes. The peer's kernel answers them, so they detect a host that has vanished, but not a program that is stopped.

import type { Socket } from 'node:net';

/** Idle time before the first probe. With Node's settings ten more follow, one second apart, and then the connection ends. */
const idleMs = 15_000;

export function probeWhenIdle(socket: Socket): void {
  socket.setKeepAlive(true, idleMs);
}
