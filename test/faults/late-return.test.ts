// A client that comes back when the server has forgotten what it was reading is told the rest, or that there is none to tell. It is not left
// waiting, and does not take what it has for the whole.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { env, openPipe, shell } from '../contract/connector.js';
import { ByteCutter } from '../support/byte-cutter.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { SluiceServer } from '../support/sluice-server.js';
import { outputText } from '../support/output-text.js';

/** Each try to come back is cut at its first byte, and the next one follows after a tenth of a second: a second of absence. */
const absence = Array.from({ length: 11 }, () => ({ direction: 'toServer', afterBytes: 0 }) as const);

describe('a client that comes back too late', { concurrency: true }, () => {
  guardAgainstLeaks();

  for (const kind of ['websocket', 'unix'] as const) {
    test(`for a process that ended meanwhile and is forgotten reads it to its end, over a ${kind}`, async () => {
      await using server = await SluiceServer.start(kind, ['--keep-closed-ms', '100']);
      await using cutter = await ByteCutter.open(server.url);
      await using client = await connect(cutter.url);
      const child = await client.start(shell(`trap 'echo late; exit 0' USR1; echo early; while :; do sleep 0.01; done`));
      assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'early' })).reason, 'text');
      cutter.plan(...absence);
      const listing = client.list(); // notices that the connection is gone
      const reading = outputText(child);
      process.kill(child.pid, 'SIGUSR1');
      assert.deepEqual(await listing, []);
      assert.equal(await reading, 'late\n');
      assert.equal((await child.closed).kind, 'code');
    });
  }

  test('for a process whose end another connection of its session has heard takes it for lost, and goes on with the others', async () => {
    await using server = await SluiceServer.start('websocket', ['--keep-closed-ms', '50', '--allow-host', '127.0.0.1']);
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    await using child = await client.start({ ...shell('echo early; read -r line; exit 0'), io: openPipe, id: 'heard' });
    await using other = await client.start({ ...shell('exec cat'), io: openPipe });
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'early' })).reason, 'text');
    const [{ sessionId = '' } = {}] = await client.list({ scope: 'all' });
    const [exit, closed, reading] = [child.exit, child.closed, outputText(child)];
    const unblock = proxy.block();
    {
      await using peer = await overWebSocket(server.url);
      await peer.greet({ resumeSessionId: sessionId, takeover: true, cursors: { heard: 1 }, capabilities: { acks: true } });
      await peer.request('process/closeStdin', { processId: 'heard' });
      const { params } = await peer.notification('process/closed', 'heard');
      peer.send(JSON.stringify({ method: 'process/ack', params }));
      await eventually(async () =>
        assert.match(JSON.stringify(await peer.request('process/read', { processId: 'heard' })), /error/),
      );
    }
    unblock();
    assert.equal(await reading, '');
    for (const { kind, outputComplete } of [await exit, await closed, await child.exit]) {
      assert.deepEqual({ kind, outputComplete }, { kind: 'lost', outputComplete: false });
    }
    await other.write('still here');
    assert.equal((await other.collectUntil({ deadlineMs: 20_000, text: 'still here' })).reason, 'text');
  });

  test('to hear that it has joined somebody else’s process joins it all the same', async () => {
    await using server = await SluiceServer.start('unix');
    await using cutter = await ByteCutter.open(server.url);
    await using client = await connect(cutter.url);
    await using other = await connect(server.url);
    await using owned = await other.start(shell('echo shared; sleep 600'));
    const [listed] = await client.list({ scope: 'all' });
    cutter.plan({ direction: 'toServer', afterBytes: 20 });
    await using joined = await client.attach(owned.id, { sessionId: listed?.sessionId ?? '' });
    assert.equal((await joined.collectUntil({ deadlineMs: 20_000, text: 'shared' })).reason, 'text');
  });

  test('for one process goes on with the others, and with what it had not yet sent', async () => {
    await using server = await SluiceServer.start('unix', ['--keep-closed-ms', '100']);
    await using cutter = await ByteCutter.open(server.url);
    await using client = await connect(cutter.url);
    await using lasting = await client.start({ ...shell('exec cat'), io: openPipe });
    await client.start(shell('sleep 0.2; echo late'));
    cutter.plan(...absence);
    const started = client.run(['echo', 'started while away'], { env });
    await lasting.write('written while away');
    assert.equal((await lasting.collectUntil({ deadlineMs: 20_000, text: 'away' })).reason, 'text');
    assert.equal((await started).stdout.text, 'started while away\n');
  });
});
