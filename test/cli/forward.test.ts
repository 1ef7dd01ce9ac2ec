// `sluice forward` and `sluice ports`, as people and scripts use them.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { parseForward } from '#src/cli/forward-words.js';
import { collect, ended, sluice, startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { FarEnd, echo, received } from '../support/far-end.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

const listener = "require('net').createServer().listen(0,'127.0.0.1')";

describe('sluice forward', () => {
  guardAgainstLeaks();

  test('prints where it listens, connects many, reports a refusal, and ends with Ctrl-C', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    try {
      await using far = await FarEnd.listen(echo);
      await using gone = await FarEnd.listen(echo);
      await gone[Symbol.asyncDispose]();
      await using server = await SluiceServer.start('websocket', ['--allow-forward']);
      const words = [`0:${far.port}`, `${join(folder, 's')}:127.0.0.1:${far.port}`, `0:${gone.port}`];
      const child = startSluice(['forward', '--connect', server.url, ...words]);
      const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
      await eventually(() => assert.equal(Buffer.concat(stdout).toString().split('\n').length, 4));
      const [first, second, third] = Buffer.concat(stdout).toString().split('\n');
      assert.match(first ?? '', /^127\.0\.0\.1:\d+$/);
      assert.equal(second, join(folder, 's'));
      for (const target of [{ port: Number(first?.split(':')[1]) }, { path: second ?? '' }]) {
        const socket = connect({ ...target, allowHalfOpen: true });
        socket.end('through');
        assert.equal(String(await received(socket)), 'through');
      }
      await new Promise((resolve) =>
        connect(Number(third?.split(':')[1]))
          .on('error', () => {})
          .on('close', resolve)
          .resume(),
      );
      await eventually(() =>
        assert.equal(
          Buffer.concat(stderr).toString(),
          `sluice: localhost:${gone.port}: cannot connect to localhost:${gone.port}: ECONNREFUSED\n`,
        ),
      );
      child.kill('SIGINT');
      assert.equal(await ended(child), 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('with --json prints an object for each forward, over a server that it launches itself', async () => {
    await using far = await FarEnd.listen(echo);
    const via = [
      '--via',
      `${process.execPath} --`,
      '--remote-sluice',
      new URL('../../dist/bin/sluice.cjs', import.meta.url).pathname,
    ];
    const child = startSluice(['forward', '--json', ...via, `0:${far.port}`]);
    for await (const line of createInterface(child.stdout)) {
      const { local, remote } = JSON.parse(line) as { local: { host: string; port: number }; remote: object };
      assert.deepEqual([local.host, remote], ['127.0.0.1', { port: far.port }]);
      const socket = connect({ port: local.port, allowHalfOpen: true });
      socket.end('through');
      assert.equal(String(await received(socket)), 'through');
      child.kill('SIGTERM');
    }
    assert.equal(await ended(child), 0);
  });

  test('fails when the server is lost, and when its address is in use', async () => {
    await using far = await FarEnd.listen(echo);
    const server = await SluiceServer.start('websocket', ['--allow-forward']);
    const taken = await sluice(['forward', '--connect', server.url, `${far.port}:1`]);
    assert.equal(taken.status, 125);
    assert.match(taken.stderr, /EADDRINUSE/);
    const child = startSluice(['forward', '--connect', server.url, '--reconnect', '100ms', `0:${far.port}`]);
    const stderr = collect(child.stderr);
    await eventually(() => assert.ok(child.stdout.read() !== null));
    await server[Symbol.asyncDispose]();
    assert.equal(await ended(child), 125);
    assert.match(Buffer.concat(stderr).toString(), /the server was lost/);
  });

  test('understands ports, hosts, IPv6 addresses and paths on either side', () => {
    const cases: readonly (readonly [string, object, object])[] = [
      ['3000', { port: 3000 }, { port: 3000 }],
      ['0:3000', { port: 0 }, { port: 3000 }],
      ['8080:db.internal:5432', { port: 8080 }, { port: 5432, host: 'db.internal' }],
      ['0.0.0.0:8080:3000', { port: 8080, host: '0.0.0.0' }, { port: 3000 }],
      ['[::1]:80:[::1]:81', { port: 80, host: '::1' }, { port: 81, host: '::1' }],
      ['localhost:1:localhost:2', { port: 1, host: 'localhost' }, { port: 2, host: 'localhost' }],
      ['/tmp/a:/tmp/b', { path: '/tmp/a' }, { path: '/tmp/b' }],
      ['./a:3000', { path: './a' }, { port: 3000 }],
      ['80:/run/x.sock', { port: 80 }, { path: '/run/x.sock' }],
    ];
    for (const [word, local, remote] of cases) assert.deepEqual(parseForward(word), { local, remote }, word);
    for (const word of ['', 'x', '1:2:3', 'db:5432', '70000', '1:0', ':1', '80:./x', '1:2:']) {
      assert.throws(() => parseForward(word), { name: 'UsageError' }, word);
    }
  });
});

describe('sluice ports', () => {
  guardAgainstLeaks();

  test('lists ports with the process behind each, as a table and as JSON, and reports changes', async () => {
    await using server = await SluiceServer.start('websocket');
    const running = startSluice(['exec', '--connect', server.url, '--name', 'web', '--', process.execPath, '-e', listener]);
    const watching = startSluice(['ports', '--connect', server.url, '--watch']);
    const changes = collect(watching.stdout);
    const change = await eventually(
      () => /^opened {2}(\d+) {2}127\.0\.0\.1 {2}web {2}(\d+)\n/.exec(text(changes)) ?? assert.fail(text(changes)),
    );
    const [, port, pid] = change;
    const table = await sluice(['ports', '--connect', server.url]);
    assert.match(table.stdout, /^PORT +ADDRESS +PROCESS +PID\n/);
    assert.match(table.stdout, new RegExp(`^${port} +127\\.0\\.0\\.1 +web +${pid}$`, 'm'));
    const json = JSON.parse((await sluice(['ports', '--json', '--connect', server.url])).stdout) as { port: number }[];
    assert.equal(json.filter((each) => each.port === Number(port)).length, 1);
    running.kill('SIGTERM');
    await ended(running);
    await eventually(() => assert.match(text(changes), new RegExp(`^closed {2}${port} `, 'm')));
    watching.kill('SIGINT');
    assert.equal(await ended(watching), 0);
  });
});

function text(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString();
}
