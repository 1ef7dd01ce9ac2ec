// What Codex's client keeps open on a server: handles of files, and watches for missing files. Both end with the connection.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overStdio, overWebSocket } from '../support/raw-connections.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';
import { CodexPlace, absent, failed, hello, refused } from './codex-place.js';

describe('a handle', () => {
  guardAgainstLeaks();

  test('reads blocks; only the end of the file makes one shorter', async () => {
    await using place = await CodexPlace.open();
    const open = await place.ask('fs/open', { handleId: 'h', path: place.uri('file.txt') });
    assert.deepEqual(open, { handleId: 'h' });
    const answers = [];
    for (const [offset, len] of [
      [0, 100],
      [0, 6],
      [2, 2],
      [9, 5],
      [0, 0],
      [0, 1_048_577],
    ]) {
      answers.push(await place.ask('fs/readBlock', { handleId: 'h', offset, len }));
    }
    assert.deepEqual(answers, [
      { chunk: hello, eof: true },
      { chunk: hello, eof: false },
      { chunk: 'bGw=', eof: false },
      { chunk: '', eof: true },
      refused,
      refused,
    ]);
    assert.equal(await place.ask('fs/writeBlock', { handleId: 'h', offset: 0, chunk: 'eA==' }), failed);
    assert.deepEqual(await place.ask('fs/close', { handleId: 'h' }), {});
    assert.equal(await place.ask('fs/readBlock', { handleId: 'h', offset: 0, len: 1 }), absent);
    assert.deepEqual(await place.ask('fs/close', { handleId: 'h' }), {});
  });

  test('to replace a file empties it at once and writes anywhere', async () => {
    await using place = await CodexPlace.open();
    assert.deepEqual(await place.ask('fs/open', { handleId: 'w', path: place.uri('file.txt'), mode: 'replace' }), {
      handleId: 'w',
    });
    assert.equal(statSync(place.at('file.txt')).size, 0);
    assert.deepEqual(await place.ask('fs/writeBlock', { handleId: 'w', offset: 3, chunk: 'ZGVm' }), {});
    assert.deepEqual(await place.ask('fs/writeBlock', { handleId: 'w', offset: 0, chunk: 'YWJj' }), {});
    assert.equal(await place.ask('fs/writeBlock', { handleId: 'w', offset: 0, chunk: '' }), refused);
    assert.equal(readFileSync(place.at('file.txt'), 'utf8'), 'abcdef');
    assert.equal(await place.ask('fs/readBlock', { handleId: 'w', offset: 0, len: 1 }), failed);
    assert.equal(await place.ask('fs/writeBlock', { handleId: 'w', offset: 0, chunk: 'eA==' }), absent); // the failed read closed it
  });

  test('has an id that is free and short, and there are at most 128', async () => {
    await using place = await CodexPlace.open();
    const open = async (handleId: string, name = 'file.txt') => place.ask('fs/open', { handleId, path: place.uri(name) });
    assert.deepEqual(
      [await open('x'.repeat(32)), await open('x'.repeat(32)), await open('é'.repeat(17))],
      [{ handleId: 'x'.repeat(32) }, refused, refused],
    );
    assert.deepEqual([await open('a', 'dir'), await open('a', 'fifo'), await open('a', 'nope')], [refused, refused, absent]);
    const answers = await Promise.all(Array.from({ length: 130 }, (_, at) => open(`n${at}`)));
    assert.equal(answers.filter((answer) => answer === refused).length, 3);
    assert.deepEqual(await place.ask('fs/close', { handleId: 'n0' }), {});
    assert.deepEqual(await open('n0'), { handleId: 'n0' });
  });

  test('is closed when its client goes, even if it was still being opened', async () => {
    await using server = await SluiceServer.start('websocket');
    const folder = mkdtempSync(join(tmpdir(), 'sluice-codex-files-'));
    writeFileSync(join(folder, 'held'), '');
    const path = pathToFileURL(join(folder, 'held')).href;
    const held = () => execFileSync('ls', ['-l', `/proc/${server.child.pid}/fd`], { encoding: 'utf8' }).split(folder).length - 1;
    {
      await using peer = await overWebSocket(server.url);
      await peer.greet({ resumeSessionId: null });
      await Promise.all(Array.from({ length: 64 }, async (_, at) => peer.request('fs/open', { handleId: `${at}`, path })));
      assert.equal(held(), 64);
      for (let at = 64; at < 128; at += 1)
        peer.send(JSON.stringify({ id: `late${at}`, method: 'fs/open', params: { handleId: `${at}`, path } }));
    }
    await eventually(() => assert.equal(held(), 0));
    rmSync(folder, { recursive: true });
  });
});

describe('a watch for missing files', () => {
  guardAgainstLeaks();

  test('fires once when one of them appears', async () => {
    await using peer = await overStdio();
    await peer.greet();
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-codex-files-')));
    const uri = (name: string) => pathToFileURL(join(folder, name)).href;
    const watch = async (watchId: number, missing: readonly string[], present: string | null = null) =>
      resultOf(await peer.request('fs/watchMissing', { watchId, missing: missing.map(uri), present }));
    assert.deepEqual(await watch(1, ['a', 'deep/er/b']), { watching: true });
    assert.deepEqual(await watch(1, ['c']), { watching: false });
    assert.deepEqual(await watch(2, [], uri('gone')), { watching: false });
    mkdirSync(join(folder, 'deep/er'), { recursive: true });
    writeFileSync(join(folder, 'deep/er/b'), '');
    const fired = await peer.find(({ method }) => method === 'fs/missingChanged', 'fs/missingChanged');
    assert.deepEqual(fired['params'], { watchId: 1 });
    assert.deepEqual(await watch(3, ['deep/er/b']), { watching: false });
    assert.deepEqual(await watch(1, ['c']), { watching: true }); // the id is free again
    rmSync(folder, { recursive: true });
  });
});

describe('a server that serves no files', () => {
  guardAgainstLeaks();

  test('refuses every call about them in words, and announces none', async () => {
    await using peer = await overStdio(['--no-files']);
    const { environmentInfo } = resultOf(await peer.greet());
    assert.deepEqual((environmentInfo as { capabilities: object }).capabilities, { httpHeaderEnvVars: true });
    const { code, message } = errorOf(await peer.request('fs/readFile', { path: 'file:///etc/passwd' }));
    assert.deepEqual([code, message], [refused, 'this server does not serve files']);
  });
});
