// The log: JSON lines on stderr, without secrets, that never block the server.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { LogFields } from '#src/base/logger.js';
import { type LoggerOptions, createLogger, processStartFields } from '#src/server/logger.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { noTerminal, openTerminal, readNow } from '../support/terminal.js';

const loggerModule = JSON.stringify(fileURLToPath(new URL('../../dist/server/logger.js', import.meta.url)));

/** Arguments for Node to run code that has `createLogger`. */
const program = (code: string) => ['--input-type=module', '-e', `import { createLogger } from ${loggerModule};\n${code}`];

async function logged(write: (log: ReturnType<typeof createLogger>) => void, level: LoggerOptions['level'] = 'debug') {
  const lines: string[] = [];
  await using log = createLogger({ level, sink: { write: (line) => void lines.push(line) } });
  write(log);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('the log', () => {
  guardAgainstLeaks();

  test('is a JSON object per line with level, time, text and fields', async () => {
    const [line = {}] = await logged((log) => log.warn('slow client', { connection: 3, peer: '127.0.0.1:9', absent: undefined }));
    const { time, ...rest } = line;
    assert.deepEqual(rest, { level: 'warn', msg: 'slow client', connection: 3, peer: '127.0.0.1:9' });
    assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test('omits lines below its level, and everything when silent', async () => {
    const all = (log: ReturnType<typeof createLogger>) => {
      for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](level);
    };
    const levels = async (level: LoggerOptions['level']) => (await logged(all, level)).map((line) => line['msg']);
    assert.deepEqual(await levels('debug'), ['debug', 'info', 'warn', 'error']);
    assert.deepEqual(await levels('warn'), ['warn', 'error']);
    assert.deepEqual(await levels('silent'), []);
  });

  test('redacts everything that looks like a secret, in fields and in the text', async () => {
    const secret = 'hunter2-hunter2';
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln';
    const fields: LogFields = {
      token: secret,
      bearerToken: secret,
      Authorization: `Bearer ${secret}`,
      header: `authorization: bearer ${secret}`,
      subprotocol: `sluice.bearer.${secret}`,
      env: `API_KEY=${secret}`,
      envSecret: secret,
      stdin: secret,
      stdinChunk: secret,
      password: secret,
      cookie: secret,
      url: `wss://me:${secret}@example.com/`,
      problem: `bad token ${jwt}`,
    };
    const text = JSON.stringify(await logged((log) => log.info(`refused Bearer ${secret} and ${jwt}`, fields)));
    assert.ok(!text.includes(secret) && !text.includes('eyJ'), text);
  });

  test('redacts a JWT anywhere in a text', async () => {
    for (const around of ['x-JWT', 'a.b.JWT', '..JWT', 'JWT.', '(JWT)', 'jwt=JWT;']) {
      const text = around.replace('JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl');
      const [line = {}] = await logged((log) => log.info(text));
      assert.doesNotMatch(String(line['msg']), /eyJ|c2ln/);
    }
    const [line = {}] = await logged((log) => log.info('127.0.0.1 has sluice.v0'));
    assert.equal(line['msg'], '127.0.0.1 has sluice.v0');
  });

  test('looks for secrets in a very long text without blocking', async () => {
    const text = 'eyJ-'.repeat(1_000_000);
    const [line = {}] = await logged((log) => log.info(text));
    assert.equal(String(line['msg']).length, text.length);
  });

  test('escapes every character that could forge a line, and loses none', async () => {
    const name = 'a\n{"level":"error"}\r\u001b[2K\u007f\u009b2K\u0085\u2028\u2029\u202e\u2066\ufeff\u{e0041}ü\u{1f600}';
    const lines: string[] = [];
    await using log = createLogger({ level: 'info', sink: { write: (line) => void lines.push(line) } });
    log.info(name, { processId: name });
    assert.deepEqual([lines.length, lines[0]?.indexOf('\n')], [1, (lines[0]?.length ?? 0) - 1]);
    assert.doesNotMatch(lines[0]?.slice(0, -1) ?? '', /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    const { msg, processId } = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    assert.deepEqual([msg, processId], [name, name]);
    assert.ok(lines[0]?.includes('ü\u{1f600}'));
  });

  test('keeps identities, counts and booleans', async () => {
    const fields = { identity: 'token:1a2b3c4d', stdinQueuedBytes: 12, isTokenNeeded: true };
    const [line = {}] = await logged((log) => log.info('connected', fields));
    assert.deepEqual({ ...line, ...fields }, line);
  });

  test('describes a started process by id, program name and pid only', () => {
    assert.deepEqual(processStartFields({ processId: 'p1', program: '/home/alice/bin/deploy', pid: 7 }), {
      processId: 'p1',
      program: 'deploy',
      pid: 7,
    });
  });

  test('goes to stderr, never to stdout, and is complete once it is closed', () => {
    const code = `{ const log = createLogger({ level: 'info' }); for (let i = 0; i < 1000; i += 1) log.info('line', { i });
      await log[Symbol.asyncDispose](); await log[Symbol.asyncDispose](); log.info('too late'); }`;
    const { status, stdout, stderr } = spawnSync(process.execPath, program(code), { encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr.split('\n').length], [0, '', 1001]);
  });

  test('writes each line to stderr synchronously, so that even SIGKILL does not lose it', () => {
    const code = `const log = createLogger({ level: 'info' }); log.info('first'); log.info('second'); process.kill(process.pid, 'SIGKILL');`;
    const file = join(tmpdir(), 'log');
    const fd = openSync(file, 'w');
    try {
      const { stderr } = spawnSync(process.execPath, program(code), { encoding: 'utf8' });
      spawnSync(process.execPath, program(code), { stdio: ['ignore', 'ignore', fd] });
      for (const text of [stderr, readFileSync(file, 'utf8')]) assert.match(text, /"first".*\n.*"second".*\n$/);
    } finally {
      closeSync(fd);
      rmSync(file);
    }
  });

  test('drops lines, and reports how many, rather than block on a stderr without a reader', async () => {
    const code = `const log = createLogger({ level: 'info' }); const text = 'x'.repeat(1000);
      for (let i = 0; i < 5000; i += 1) log.info(text);
      process.stdout.write('still here'); process.stdin.once('data', async () => {
        log.info('last'); log.info('the very last'); await log[Symbol.asyncDispose](); process.exit(0); }).resume();`;
    const child = spawn(process.execPath, program(code), { stdio: ['pipe', 'pipe', 'pipe'] });
    const [printed] = (await once(child.stdout, 'data')) as [Buffer];
    assert.equal(printed.toString(), 'still here');
    let lines = '';
    child.stderr.on('data', (piece: Buffer) => (lines += piece.toString()));
    child.stderr.once('data', () => setImmediate(() => child.stdin.end('go')));
    assert.deepEqual(await once(child, 'close'), [0, null]);
    const seen = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; droppedLines?: number });
    const dropped = seen.reduce((sum, line) => sum + (line.droppedLines ?? 0), 0);
    assert.ok(dropped > 0);
    assert.equal(seen.length + dropped, 5_002, `${seen.length} seen, ${dropped} dropped`); // each reported once
  });

  test('does not wait for a terminal stopped with Ctrl-S', { skip: noTerminal }, async () => {
    const terminal = openTerminal();
    const slave = terminal.openSlave();
    const code = `const log = createLogger({ level: 'info' }); log.info('first');
      process.stdin.once('data', () => {
        for (let i = 0; i < 200; i += 1) log.info('x'.repeat(1000));
        setImmediate(() => process.stdout.write('still here'));
      }).resume();`;
    const child = spawn(process.execPath, program(code), { stdio: ['pipe', 'pipe', slave] });
    const ended = once(child, 'close');
    try {
      let [shown, printed] = ['', ''];
      await eventually(() => assert.match((shown += readNow(terminal.master)), /"msg":"first"/));
      writeSync(terminal.master, '\u0013'); // Ctrl-S
      child.stdout?.on('data', (piece: Buffer) => (printed += piece.toString()));
      child.stdin?.write('go');
      await eventually(() => assert.equal(printed, 'still here'));
    } finally {
      child.kill('SIGKILL');
      for (const fd of [slave, terminal.master]) closeSync(fd);
      await ended;
    }
  });

  test('does not keep a server from exiting when stderr is not read', async () => {
    const code = `const log = createLogger({ level: 'info' }); for (let i = 0; i < 5000; i += 1) log.info('x'.repeat(1000));
      await log[Symbol.asyncDispose](); process.exit(0);`;
    const child = spawn(process.execPath, program(code), { stdio: ['ignore', 'ignore', 'pipe'] });
    const [status] = (await once(child, 'exit')) as [number];
    child.stderr.destroy();
    assert.equal(status, 0);
  });
});
