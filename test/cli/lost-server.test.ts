// What `sluice` prints, and when it ends, once its server has stopped or vanished.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { InTerminal, collect, ended, startSluice } from '../support/cli.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

/** Longer than any test waits, so that a client that keeps trying fails its test. */
const patient = ['--reconnect', '10m'];

describe('sluice, when its server stops', () => {
  guardAgainstLeaks();

  test('exec ends at once, as the command was ended', async () => {
    await using server = await SluiceServer.start('websocket');
    const child = startSluice(['exec', '--connect', server.url, ...patient, '--', 'sh', '-c', 'echo up; exec sleep 600']);
    const stderr = collect(child.stderr);
    await once(child.stdout, 'data');
    await server.stop();
    await eventually(() => assert.equal(child.exitCode, 143));
    assert.equal(Buffer.concat(stderr).toString(), 'sluice: the server has stopped, and has ended the command\n');
  });

  test('exec -t ends at once, with its message at the beginning of a line', async () => {
    await using server = await SluiceServer.start('websocket');
    const args = ['exec', '-t', '--connect', server.url, ...patient, '--', 'sh', '-c', 'printf half; exec sleep 600'];
    await using terminal = await InTerminal.open(args);
    await terminal.see('half');
    await server.stop();
    const { text, code } = await terminal.rest();
    assert.equal(code, 143);
    assert.match(text, /^\r\nsluice: the server has stopped, and has ended the command\r\n$/);
  });

  test('attach ends at once', async () => {
    await using server = await SluiceServer.start('websocket');
    const command = ['sh', '-c', 'echo up; exec sleep 600'];
    const owner = startSluice(['exec', '--connect', server.url, '--name', 'job', '--', ...command]);
    await once(owner.stdout, 'data');
    const child = startSluice(['attach', '--connect', server.url, ...patient, 'job']);
    await once(child.stdout, 'data');
    await server.stop();
    await eventually(() => assert.equal(child.exitCode, 143));
    await ended(owner);
  });
});

describe('sluice, when its server has vanished', () => {
  guardAgainstLeaks();

  test('exec reports once that it tries to reconnect, and gives up when the time has passed', async () => {
    await using server = await SluiceServer.start('websocket');
    const child = startSluice([
      'exec',
      '--connect',
      server.url,
      '--reconnect',
      '2s',
      '--',
      'sh',
      '-c',
      'echo up; exec sleep 600',
    ]);
    const stderr = collect(child.stderr);
    await once(child.stdout, 'data');
    await server.stop('SIGKILL');
    assert.equal(await ended(child), 125);
    const [trying, over, ...rest] = Buffer.concat(stderr).toString().split('\n');
    assert.match(
      trying ?? '',
      /^sluice: the connection to ws:\/\/127\.0\.0\.1:\d+ was lost \(.+\); trying to reconnect for up to 2 s$/,
    );
    assert.match(
      over ?? '',
      /^sluice: the server was lost \(.+\); its processes end with it, and how this one ended is unknown$/,
    );
    assert.deepEqual(rest, ['']);
  });

  for (const mode of [['-t'], ['--grace', '1s']]) {
    test(`exec ${mode.join(' ')} on a terminal reports it at the beginning of a line, and when it has reconnected`, async () => {
      await using server = await SluiceServer.start('websocket', ['--allow-host', '127.0.0.1']);
      await using proxy = await CuttingProxy.open(server.url);
      const command = ['sh', '-c', 'printf half; exec sleep 600'];
      await using terminal = await InTerminal.open(['exec', ...mode, '--connect', proxy.url, ...patient, '--', ...command]);
      await terminal.see('half');
      const unblock = proxy.block();
      // A terminal that is not in raw mode adds its own carriage return.
      const notice = await terminal.see(/to 600 s\r+\n/);
      assert.match(notice, /^\r+\nsluice: the connection to ws:[^\n]*; trying to reconnect for up to 600 s\r+\n$/);
      unblock();
      assert.match(await terminal.see(/reconnected\r+\n/), /^sluice: reconnected\r+\n$/);
      await terminal.child.signal('SIGTERM');
      await terminal.rest();
    });
  }
});
