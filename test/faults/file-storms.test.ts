// A client that asks for more about files than it reads. Only so many of its calls are carried out, and other clients do not wait for them.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { connect } from '#src/index.js';
import { eventually, settled } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { Scratch, memoryFolder } from '../support/scratch.js';
import { SluiceServer } from '../support/sluice-server.js';

const mib = 1024 * 1024;

/** Of replies that wait for clients to read them. */
async function queuedBytes({ url }: SluiceServer): Promise<number> {
  const text = await (await fetch(`${url.replace('ws:', 'http:')}/metrics`)).text();
  return Number(/^sluice_send_queued_bytes (\d+)$/m.exec(text)?.[1]);
}

describe('a client that does not read what it asks for', () => {
  guardAgainstLeaks();

  test('has few calls about files carried out before it reads the replies, and then all of them', async () => {
    using scratch = new Scratch({}, memoryFolder);
    const uriOf = (name: string) => pathToFileURL(scratch.at(name)).href;
    writeFileSync(scratch.at('large'), Buffer.alloc(16 * 1024 * 1024));
    mkdirSync(scratch.at('made'));
    const made = () => readdirSync(scratch.at('made')).length;
    await using server = await SluiceServer.start('websocket', ['--metrics-open']);
    await using silent = await overWebSocket(server.url);
    await silent.request('initialize', { clientName: 'silent' });
    silent.send(JSON.stringify({ method: 'initialized' }));
    silent.pause();
    silent.send(JSON.stringify({ id: 0, method: 'fs/readFile', params: { path: uriOf('large') } }));
    await eventually(async () => assert.ok((await queuedBytes(server)) > mib));
    for (let id = 1; id <= 100; id += 1) {
      silent.send(JSON.stringify({ id, method: 'fs/createDirectory', params: { path: uriOf(`made/${id}`) } }));
    }
    await eventually(() => assert.ok(made() > 0));
    const count = await settled(made);
    await using other = await connect(server.url);
    const listed = await other.files.list(scratch.at('made'));
    silent.resume();
    assert.ok(count < 33, `${count} calls were carried out`);
    assert.equal(listed.length, count);
    await eventually(() => assert.equal(made(), 100));
  });

  test('may leave while long replies wait for it, and the server serves others', async () => {
    using scratch = new Scratch({}, memoryFolder);
    writeFileSync(scratch.at('large'), Buffer.alloc(16 * 1024 * 1024));
    const params = { path: pathToFileURL(scratch.at('large')).href };
    await using server = await SluiceServer.start('websocket', ['--metrics-open']);
    for (let round = 0; round < 5; round += 1) {
      const leaving = await overWebSocket(server.url);
      await leaving.request('initialize', { clientName: 'leaving' });
      leaving.send(JSON.stringify({ method: 'initialized' }));
      leaving.pause();
      for (const id of [1, 2]) leaving.send(JSON.stringify({ id, method: 'fs/readFile', params }));
      await eventually(async () => assert.ok((await queuedBytes(server)) > 8 * mib));
      leaving.resume();
      await leaving[Symbol.asyncDispose]();
    }
    await using other = await connect(server.url);
    assert.equal((await other.files.stat(scratch.at('large'))).kind, 'file');
  });
});
