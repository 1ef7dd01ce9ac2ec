// What a client says last, on streams of lines: a line that its end of file ends counts like any other, and is answered.

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
  return await readText(socket); // before the server is stopped
};

/** Ids of the replies, sorted: they may come in another order than the requests. */
const repliesIn = (output: string) =>
  output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id?: number; result?: unknown })
    .flatMap(({ id, result }) => (id === undefined || result === undefined ? [] : [id]))
    .toSorted((one, other) => one - other);

describe('the last line of a client', () => {
  guardAgainstLeaks();

  for (const [name, say] of [
    ['stdio', overStdio],
    ['a Unix socket', overUnix],
  ] as const) {
    for (const [ending, end] of [
      ['a line feed', '\n'],
      ['only the end of the stream', ''],
    ] as const) {
      test(`with ${ending} is answered over ${name}`, async () => {
        assert.deepEqual(repliesIn(await say(`${greeting}${end}`)), [1]);
      });

      test(`with ${ending} is answered over ${name}, like all before it`, async () => {
        assert.deepEqual(repliesIn(await say(`${conversation}${end}`)), [1, 2, 3]);
      });
    }
  }
});
