// `sluice exec --stream`: a line protocol through it, byte for byte, here and over a socket.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { InTerminal, collect, ended, sluiceBytes, startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { SluiceServer, program } from '../support/sluice-server.js';

const turns = 5_000;

/** Where the command runs: the flags for it, and what to end afterwards. */
const places = {
  'on this machine': async () => ({ flags: [], [Symbol.asyncDispose]: async () => {} }),
  'over a Unix socket': async () => {
    const server = await SluiceServer.start('unix');
    return { flags: ['--connect', server.url], [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  },
} as const;

for (const [where, open] of Object.entries(places)) {
  describe(`sluice exec --stream ${where}`, () => {
    guardAgainstLeaks();

    test(`takes ${turns} turns, each sent only after the reply to the previous one`, async () => {
      await using place = await open();
      const child = startSluice([
        'exec',
        '--stream',
        ...place.flags,
        '--',
        'sh',
        '-c',
        'while read -r line; do echo "re: $line"; done',
      ]);
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      for (let turn = 0; turn < turns; turn += 1) {
        child.stdin.write(`turn ${turn}\n`);
        const { value } = (await lines.next()) as { value: string };
        if (value !== `re: turn ${turn}`) assert.fail(`reply ${turn} is ${value}`);
      }
      child.stdin.end();
      assert.equal(await ended(child), 0);
    });

    test('passes a single line of 32 MiB unchanged', async () => {
      await using place = await open();
      const line = Buffer.from(`${JSON.stringify({ text: 'ü'.repeat(16 * 1024 * 1024) })}\n`);
      const { status, stdout } = await sluiceBytes(['exec', '--stream', ...place.flags, '--', 'cat'], { input: line });
      assert.deepEqual([status, stdout.equals(line)], [0, true]);
    });

    test('passes every possible byte unchanged, both ways and on both streams', async () => {
      await using place = await open();
      const bytes = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), randomBytes(100_000)]);
      const child = startSluice(['exec', '--stream', ...place.flags, '--', 'sh', '-c', 'tee /dev/stderr']);
      const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
      child.stdin.end(bytes);
      const [status] = (await once(child, 'close')) as [number];
      assert.deepEqual([status, Buffer.concat(stdout).equals(bytes), Buffer.concat(stderr).equals(bytes)], [0, true, true]);
    });

    test('stops reading our stdin while the command does not read, and ends the command when we are ended', async () => {
      await using place = await open();
      const child = startSluice(['exec', '--stream', ...place.flags, '--', 'sh', '-c', 'echo $$; exec sleep 600']);
      const [first] = (await once(child.stdout, 'data')) as [Buffer];
      child.stdin.on('error', () => {});
      let offeredBytes = 0;
      const offer = () => {
        while (offeredBytes < 64 * 1024 * 1024) {
          offeredBytes += 65_536;
          if (!child.stdin.write(Buffer.alloc(65_536))) return;
        }
      };
      child.stdin.on('drain', offer);
      offer();
      child.kill('SIGTERM');
      assert.equal(await ended(child), 143);
      assert.ok(offeredBytes < 8 * 1024 * 1024, `${offeredBytes} bytes were taken for a command that reads nothing`);
      await eventually(async () => assert.deepEqual(await living([Number.parseInt(first.toString(), 10)]), []));
    });

    test('passes a large file through with its checksum, in bounded memory', async () => {
      await using place = await open();
      const size = 128 * 1024 * 1024;
      const script = `head -c ${size} /dev/zero | "$@" | sha256sum`;
      const args = [process.execPath, '--', program, 'exec', '--stream', ...place.flags, '--', 'cat'];
      const child = spawn('sh', ['-c', script, 'sh', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
      const out = collect(child.stdout);
      await once(child, 'close');
      const expected = createHash('sha256').update(Buffer.alloc(size)).digest('hex');
      assert.equal(Buffer.concat(out).toString(), `${expected}  -\n`);
    });
  });
}

describe('sluice exec --stream', () => {
  guardAgainstLeaks();

  for (const kind of ['unix', 'websocket'] as const) {
    test(`exits with 125 and a clear line when the server is killed, over ${kind}, and nothing survives`, async () => {
      await using server = await SluiceServer.start(kind);
      const flags = ['--connect', server.url, '--reconnect', '200ms'];
      const child = startSluice([
        'exec',
        '--stream',
        ...flags,
        '--',
        'sh',
        '-c',
        'echo $$; while read -r line; do echo "$line"; done',
      ]);
      const stderr = collect(child.stderr);
      const [first] = (await once(child.stdout, 'data')) as [Buffer];
      child.stdin.write('one\n');
      await once(child.stdout, 'data');
      server.child.kill('SIGKILL');
      assert.equal(await ended(child), 125);
      assert.match(Buffer.concat(stderr).toString(), /^sluice: the server was lost \(.*\); .*unknown\n$/);
      await eventually(async () => assert.deepEqual(await living([Number.parseInt(first.toString(), 10)]), []));
    });
  }

  test('exits with 125 when the server launched for it is killed', async () => {
    const child = startSluice([
      'exec',
      '--stream',
      '--via',
      process.execPath,
      '--remote-sluice',
      program,
      '--',
      'sh',
      '-c',
      'echo $PPID; exec cat',
    ]);
    const stderr = collect(child.stderr);
    const [first] = (await once(child.stdout, 'data')) as [Buffer];
    process.kill(Number.parseInt(first.toString(), 10), 'SIGKILL');
    assert.equal(await ended(child), 125);
    assert.match(Buffer.concat(stderr).toString(), /^sluice: the server was lost/);
  });

  test('is refused when stdin is a terminal', async () => {
    await using terminal = await InTerminal.open(['exec', '--stream', '--', 'cat']);
    const { text, code } = await terminal.rest();
    assert.match(text, /^sluice: --stream is for programs, but stdin is a terminal; use -t/);
    assert.equal(code, 125);
  });
});
