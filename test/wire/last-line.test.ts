// The last line of a client on a line-based stream is answered even if only the end of the stream terminates it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer, program } from '../support/sluice-server.js';

const greeting = '{"id":1,"method":"initialize","params":{"clientName":"last"}}';
const conversation = [
  greeting,
  '{"method":"initialized"}',
  '{"id":2,"method":"process/start","params":{"processId":"p","argv":["sleep","600"],"cwd":"/","env":{"PATH":"/usr/bin:/bin"}}}',
  '{"id":3,"method":"environment/status"}',
].join('\n');

const overStdio = (input: string) => {
  const args = [program, 'serve', '--listen', 'stdio', '--log-level', 'error'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { input, encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout;
};

const overUnix = async (input: string) => {
  await using server = await SluiceServer.start('unix');
  const socket = connect({ path: server.url.slice('unix://'.length), allowHalfOpen: true });
  socket.end(input);
  return await readText(socket); // awaited here, before the server is disposed of
};

/** Sorted ids of the replies, which may be out of order. */
const repliesIn = (output: string) =>
  output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id?: number; result?: unknown })
    .flatMap(({ id, result }) => (id === undefined || result === undefined ? [] : [id]))
    .toSorted((one, other) => one - other);

describe('the last line of a client', () => {
  guardAgainstLeaks();

  for (const [name, send] of [
    ['stdio', overStdio],
    ['a Unix socket', overUnix],
  ] as const) {
    for (const [ending, end] of [
      ['a line feed', '\n'],
      ['only the end of the stream', ''],
    ] as const) {
      test(`with ${ending} is answered over ${name}`, async () => {
        assert.deepEqual(repliesIn(await send(`${greeting}${end}`)), [1]);
      });

      test(`with ${ending} is answered over ${name}, like the lines before it`, async () => {
        assert.deepEqual(repliesIn(await send(`${conversation}${end}`)), [1, 2, 3]);
      });
    }
  }
});
