// Attaching, detaching and listing work the same with and without a wire.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isExecError } from '#src/protocol/index.js';
import type { Client } from '#src/client/index.js';
import { type Connector, shell } from './connector.js';
import { outputText } from '../support/output-text.js';

export function attaching(connector: Connector): void {
  describe('an existing process', () => {
    test('is listed with its session when all sessions are requested', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('sleep 600'));
      assert.equal(typeof (await sessionOf(client, child.id)), 'string');
    });

    test('can be attached to by its session id, and is replayed from the number the caller gives', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('echo first; echo second; exit 3'));
      assert.equal(await outputText(child), 'first\nsecond\n');
      const sessionId = await sessionOf(client, child.id);
      for (const role of ['watch', 'drive'] as const) {
        await using again = await client.attach(child.id, { sessionId, role });
        assert.equal(await outputText(again), 'first\nsecond\n');
        const ending = await again.exit;
        assert.equal(ending.kind === 'code' && ending.code, 3);
      }
      const { nextSeq } = await child.read();
      await using nothing = await client.attach(child.id, { sessionId, afterSeq: nextSeq - 1 });
      assert.equal(await outputText(nothing), '');
    });

    test('obeys its owner whatever role the owner has attached with, even after detaching', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('echo all'));
      await outputText(child);
      const watched = await client.attach(child.id, { role: 'watch', follow: false });
      assert.equal(await watched.write('too late'), 'stdinClosed');
      await watched.close();
      assert.equal(await watched.terminate(), false);
      assert.equal((await watched.snapshot()).running, false);
    });

    test('is not found in an unknown session, under another id, or after a number it has not reached', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('echo all'));
      await outputText(child);
      const { nextSeq } = await child.read();
      await assert.rejects(client.attach(child.id, { sessionId: 'none' }), (error) => isExecError(error, 'sessionNotFound'));
      await assert.rejects(client.attach('none'), (error) => isExecError(error, 'processNotFound'));
      await assert.rejects(client.attach(child.id, { afterSeq: nextSeq }), (error) => isExecError(error, 'invalidParams'));
    });
  });
}

async function sessionOf(client: Client, id: string): Promise<string> {
  const known = (await client.list({ scope: 'all' })).find(({ processId }) => processId === id);
  return known?.sessionId ?? assert.fail(`${id} is listed without a session`);
}
