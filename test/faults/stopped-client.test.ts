// A client that is stopped for a long time, as after Ctrl-Z: its socket is open and its kernel acknowledges data, but it answers no ping.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defaultLimits } from '#src/server/index.js';
import { shell } from '../contract/connector.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { resultOf } from '../support/raw-peer.js';
import { TimedServer } from '../support/timed-server.js';

const minuteMs = 60_000;

describe('a stopped client with an open socket', () => {
  guardAgainstLeaks();

  test('keeps its session and its process for more than fifteen minutes', async () => {
    await using served = await TimedServer.start();
    const { clock } = served;
    const peer = await overWebSocket(served.url);
    await peer.greet({ resumeSessionId: null });
    await peer.request('process/start', { processId: 'p', ...shell('exec cat'), tty: false, pipeStdin: true });
    peer.pause();
    for (let minute = 0; minute < 15; minute += 1) await clock.advance(minuteMs);
    assert.equal(served.server.gauges().connections(), 1);
    peer.resume();
    const chunk = Buffer.from('still here').toString('base64');
    assert.equal(resultOf(await peer.request('process/write', { processId: 'p', chunk, writeId: 'w' }))['status'], 'accepted');
    await eventually(() => assert.equal(peer.outputOf('p'), 'still here'));
    await peer[Symbol.asyncDispose]();
  });

  test('is disconnected after the limit, and its session ends after the grace period', async () => {
    await using served = await TimedServer.start();
    const { clock } = served;
    const peer = await overWebSocket(served.url);
    await peer.greet({ resumeSessionId: null });
    peer.pause();
    await clock.advance(defaultLimits.silentClientMs + minuteMs);
    await eventually(() => assert.equal(served.server.gauges().connections(), 0));
    await clock.advance(defaultLimits.detachGraceMs);
    assert.equal(served.server.gauges().sessions(), 0);
    peer.resume();
    await peer.closed;
  });
});
