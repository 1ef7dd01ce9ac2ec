// A client that comes back when the server has forgotten what it was reading is told the rest, or that there is none to tell. It is not left
// waiting, and does not take what it has for the whole.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ProcessHandle, connect } from '#src/index.js';
import { env, openPipe, shell } from '../contract/connector.js';
import { ByteCutter } from '../support/byte-cutter.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

/** Each try to come back is cut at its first byte, and the next one follows after a tenth of a second: a second of absence. */
const absence = Array.from({ length: 11 }, () => ({ direction: 'toServer', afterBytes: 0 }) as const);

describe('a client that comes back too late', { concurrency: true }, () => {
  guardAgainstLeaks();

  for (const kind of ['websocket', 'unix'] as const) {
    test(`for a process that ended meanwhile and is forgotten reads it to its end, over a ${kind}`, async () => {
      await using server = await SluiceServer.start(kind, ['--keep-closed-ms', '100']);
      await using cutter = await ByteCutter.open(server.url);
      await using client = await connect(cutter.url);
      const child = await client.start(shell('echo early; sleep 0.2; echo late'));
      assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'early' })).reason, 'text');
      cutter.plan(...absence);
      const listing = client.list(); // notices that the connection is gone
      const reading = textOf(child);
      assert.deepEqual(await listing, []);
      assert.equal(await reading, 'late\n');
      assert.equal((await child.closed).kind, 'code');
    });
  }

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

async function textOf({ output }: ProcessHandle): Promise<string> {
  let text = '';
  for await (const { bytes } of output) text += Buffer.from(bytes).toString();
  return text;
}
