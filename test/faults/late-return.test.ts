// A client that reconnects after the server has forgotten the process it was reading gets the rest of the output, or learns that it is
// lost. It does not wait forever, and does not take partial output for complete.

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

/** Each attempt to reconnect is cut at its first byte, and the next follows after 100 ms: the client is away for a second. */
const absence = Array.from({ length: 11 }, () => ({ direction: 'toServer', afterBytes: 0 }) as const);

describe('a client that reconnects late', { concurrency: true }, () => {
  guardAgainstLeaks();

  for (const kind of ['websocket', 'unix'] as const) {
    test(`reads a process to its end that ended and was forgotten while it was away, over a ${kind}`, async () => {
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

  test('reports a process as lost whose end another connection acknowledged, and keeps the others', async () => {
    await using server = await SluiceServer.start('websocket', ['--keep-closed-ms', '50', '--allow-host', '127.0.0.1']);
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    await using child = await client.start({ ...shell('echo early; read -r line; exit 0'), io: openPipe, id: 'acked' });
    await using other = await client.start({ ...shell('exec cat'), io: openPipe });
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'early' })).reason, 'text');
    const [{ sessionId = '' } = {}] = await client.list({ scope: 'all' });
    const [exit, closed, reading] = [child.exit, child.closed, outputText(child)];
    const unblock = proxy.block();
    {
      await using peer = await overWebSocket(server.url);
      await peer.greet({ resumeSessionId: sessionId, takeover: true, cursors: { acked: 1 }, capabilities: { acks: true } });
      await peer.request('process/closeStdin', { processId: 'acked' });
      const { params } = await peer.notification('process/closed', 'acked');
      peer.send(JSON.stringify({ method: 'process/ack', params }));
      await eventually(async () =>
        assert.match(JSON.stringify(await peer.request('process/read', { processId: 'acked' })), /error/),
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

  test('still attaches to another client’s process when the request was cut', async () => {
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

  test('keeps its other processes, and sends the requests made while it was away', async () => {
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
