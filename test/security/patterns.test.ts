// Patterns from callers: no request can block the server.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

describe('a glob in an environment policy', () => {
  guardAgainstLeaks();

  test('that would make a regular expression backtrack for ever is matched, and other callers are answered', async () => {
    await using server = await SluiceServer.start('websocket');
    await using hostile = await overWebSocket(server.url);
    await using other = await overWebSocket(server.url);
    await Promise.all([hostile.greet(), other.greet()]);
    const name = 'a'.repeat(100);
    const envPolicy = { inherit: 'none', set: { [name]: '1', [`${name}b`]: '2' }, includeOnly: ['*a*a*a*a*a*a*a*a*b'] };
    const started = hostile.request('process/start', { processId: 'p', argv: ['/usr/bin/env'], envPolicy });
    resultOf(await other.request('environment/status'));
    resultOf(await started);
    await hostile.notification('process/closed', 'p');
    assert.equal(hostile.outputOf('p'), `${name}b=2\n`);
  });

  test('is refused if there are more of them than can be matched quickly', async () => {
    await using server = await SluiceServer.start('websocket');
    await using peer = await overWebSocket(server.url);
    await peer.greet();
    const globs = Array.from({ length: 1_000 }, () => `*${'a'.repeat(200)}b`);
    const set = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`a${'a'.repeat(30)}${index}`, '']));
    const envPolicy = { inherit: 'none', set, includeOnly: globs };
    const refused = errorOf(await peer.request('process/start', { processId: 'p', argv: ['true'], envPolicy }));
    assert.equal(refused.code, -32602);
    assert.match(refused.message, /globs of envPolicy take up to \d+ comparisons/);
  });
});
