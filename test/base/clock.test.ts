// The system clock: how its timers behave when the program was stalled.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '#src/base/clock.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

describe('a timer', () => {
  guardAgainstLeaks();

  for (const stallMs of [100, 700]) {
    test(`that is late because the program was stalled for ${stallMs} ms fires after pending events`, async () => {
      const order: string[] = [];
      const server = createServer((socket) => socket.on('data', () => order.push('message')).on('end', () => socket.end()));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
      await once(client, 'connect');
      await sleep(20); // until the server has accepted it too
      for (const start of [systemClock.after.bind(systemClock), systemClock.afterIdle.bind(systemClock)]) {
        client.write('x');
        start(1, () => order.push('timer'));
        stall(stallMs);
        await eventually(() => assert.equal(order.at(-1), 'timer'));
        order.push('and again');
      }
      client.end();
      await once(client, 'close');
      server.close();
      await once(server, 'close');
      assert.deepEqual(order, ['message', 'timer', 'and again', 'message', 'timer', 'and again']);
    });
  }

  test('of more than 24.8 days, the maximum of a Node timer, fires when it is due and not before', (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const longestDelayMs = 2 ** 31 - 1;
    const fired: string[] = [];
    systemClock.after(2 * longestDelayMs + 5, () => fired.push('due'));
    systemClock.after(Infinity, () => fired.push('never'));
    systemClock.after(longestDelayMs + 1, () => fired.push('cancelled')).cancel();
    const cancelledLater = systemClock.after(3 * longestDelayMs, () => fired.push('cancelled later'));
    for (const ms of [longestDelayMs, longestDelayMs, 4]) context.mock.timers.tick(ms);
    assert.deepEqual(fired, []);
    cancelledLater.cancel();
    context.mock.timers.tick(1);
    assert.deepEqual(fired, ['due']);
    for (let months = 0; months < 3; months += 1) context.mock.timers.tick(longestDelayMs);
    assert.deepEqual(fired, ['due']);
  });

  test('that is cancelled while it yields to pending events does not fire', async () => {
    let hasFired = false;
    const timer = systemClock.after(1, () => (hasFired = true));
    stall(600);
    setImmediate(() => timer.cancel());
    await sleep(200);
    assert.equal(hasFired, false);
  });
});

function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
