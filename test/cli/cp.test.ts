// `sluice cp` as a user runs it: both directions, pipes, a terminal, and what it says when something is wrong.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { InTerminal, collect, ended, sluice, sluiceBytes, startSluice } from '../support/cli.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Scratch } from '../support/scratch.js';
import { SluiceServer } from '../support/sluice-server.js';

const large = Buffer.alloc(5_000_003, 'cp');

guardAgainstLeaks();

describe('sluice cp', () => {
  let server: SluiceServer;
  before(async () => {
    server = await SluiceServer.start('websocket');
  });
  after(async () => server[Symbol.asyncDispose]());

  /** Runs it, and fails unless it succeeds with an empty stderr. */
  async function cp(...args: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await sluice(['cp', '--connect', server.url, ...args]);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' }, args.join(' '));
    return stdout;
  }

  async function problem(...args: readonly string[]): Promise<string> {
    const { status, stderr } = await sluice(['cp', '--connect', server.url, ...args]);
    assert.equal(status, 125, args.join(' '));
    return stderr;
  }

  test('copies a file in either direction, into a folder under its own name', async () => {
    using scratch = new Scratch();
    writeFileSync(scratch.at('file'), large, { mode: 0o750 });
    mkdirSync(scratch.at('folder'));
    assert.equal(await cp(scratch.at('file'), `:${scratch.at('up')}`), '');
    await cp(scratch.at('file'), `:${scratch.at('folder')}`);
    await cp(`:${scratch.at('up')}`, scratch.at('down'));
    await cp(`:${scratch.at('up')}`, scratch.at('folder'));
    for (const name of ['up', 'folder/file', 'down', 'folder/up']) {
      assert.ok(large.equals(readFileSync(scratch.at(name))), name);
      assert.equal(statSync(scratch.at(name)).mode & 0o777, 0o750);
    }
  });

  test('copies a folder as cp -r does, and reports it as JSON', async () => {
    using scratch = new Scratch();
    mkdirSync(scratch.at('src', 'sub'), { recursive: true });
    writeFileSync(scratch.at('src', 'sub', 'file'), 'content');
    writeFileSync(scratch.at('src', 'left.log'), 'content');
    symlinkSync('sub/file', scratch.at('src', 'link'));
    const copied = await cp('--json', '--exclude', '*.log', scratch.at('src'), `:${scratch.at('up')}`);
    const counts = { files: 1, folders: 1, links: 1, bytes: 7, unchanged: 0, skipped: [], skippedCount: 0 };
    assert.deepEqual(JSON.parse(copied), { ...counts, to: `:${scratch.at('up')}` });
    assert.deepEqual(readdirSync(scratch.at('up')).toSorted(), ['link', 'sub']);
    await cp(scratch.at('src'), `:${scratch.at('up')}`); // which exists now
    await cp(`${scratch.at('src')}/.`, `:${scratch.at('up')}`);
    assert.deepEqual(readdirSync(scratch.at('up')).toSorted(), ['left.log', 'link', 'src', 'sub']);
    await cp(`:${scratch.at('src')}`, scratch.at('up'));
    await cp(`:${scratch.at('src')}`, `:${scratch.at('far')}`);
    assert.deepEqual(readdirSync(scratch.at('far')).toSorted(), ['left.log', 'link', 'sub']);
    const resumed = await cp('--json', '--resume', scratch.at('src'), `:${scratch.at('up')}`);
    assert.match(resumed, /"files":0,.*"unchanged":3,/);
  });

  test('copies from stdin and to stdout', async () => {
    using scratch = new Scratch();
    const { status, stderr } = await sluiceBytes(['cp', '--connect', server.url, '-', `:${scratch.at('file')}`], {
      input: large,
    });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    assert.ok(large.equals(readFileSync(scratch.at('file'))));
    const { stdout } = await sluiceBytes(['cp', '--connect', server.url, `:${scratch.at('file')}`, '-']);
    assert.ok(large.equals(stdout));
    const child = startSluice(['cp', '--connect', server.url, `:${scratch.at('file')}`, '-']);
    child.stdout.destroy();
    assert.equal(await ended(child), 141);
  });

  test('refuses in words what it cannot do', async () => {
    using scratch = new Scratch();
    assert.match(await problem('a', 'b'), /neither path is on the server; .* use "cp"/);
    assert.match(await problem('-', 'b'), /neither path is on the server/);
    assert.match(await problem('a'), /needs two paths/);
    assert.match(await problem('--json', ':a', '-'), /--json/);
    assert.match(await problem(`:${scratch.at('absent')}`, scratch.at('x')), /no such file.*absent/);
    assert.match(await problem(scratch.at('absent'), `:${scratch.at('x')}`), /no such file.*absent/);
    assert.match(await problem(scratch.path, `:${scratch.at('no', 'such', 'folder')}`), /such/);
    assert.deepEqual(readdirSync(scratch.path), []);
  });

  test('shows a progress bar on a terminal, and removes it', async () => {
    using scratch = new Scratch();
    writeFileSync(scratch.at('file'), large);
    await using terminal = await InTerminal.open(['cp', '--connect', server.url, scratch.at('file'), `:${scratch.at('up')}`]);
    const { text, code } = await terminal.rest();
    assert.equal(code, 0);
    assert.match(text, /\[={20}\] 100% {2}4\.8MiB {2}\S+\/s {2}file/);
    assert.ok(text.endsWith('\r\u001b[K'));
  });

  test('is interrupted by Ctrl-C, and leaves the old file', async () => {
    using scratch = new Scratch();
    writeFileSync(scratch.at('file'), 'old');
    const child = startSluice(['cp', '--connect', server.url, '-', `:${scratch.at('file')}`]);
    child.stdin.on('error', () => {});
    child.stdin.write(large);
    await eventually(() => assert.equal(child.stdin.writableLength, 0)); // it reads, so it handles signals
    child.kill('SIGINT');
    assert.equal(await ended(child), 130);
    assert.deepEqual([readFileSync(scratch.at('file'), 'utf8'), readdirSync(scratch.path)], ['old', ['file']]);
  });

  test('names the command that continues it when its server is lost', async () => {
    using scratch = new Scratch();
    await using proxy = await CuttingProxy.open(server.url);
    mkdirSync(scratch.at('src'));
    for (let index = 0; index < 20; index += 1) writeFileSync(scratch.at('src', `file-${index}`), large);
    mkdirSync(scratch.at('up'));
    const child = startSluice(['cp', '--connect', proxy.url, '--reconnect', '0', scratch.at('src'), `:${scratch.at('up')}`]);
    const stderr = collect(child.stderr);
    await eventually(() => assert.ok(existsSync(scratch.at('up', 'src', readdirSync(scratch.at('up', 'src'))[0] ?? 'none'))));
    proxy.cut();
    assert.equal(await ended(child), 125);
    const again = /"(?<command>sluice cp --resume [^"]+)"/.exec(Buffer.concat(stderr).toString())?.groups?.['command'] ?? '';
    assert.equal(again, `sluice cp --resume ${scratch.at('src')} :${scratch.at('up', 'src')}`);
    for (const name of readdirSync(scratch.at('up', 'src')))
      assert.equal(statSync(scratch.at('up', 'src', name)).size, large.length, name);
    await cp('--resume', scratch.at('src'), `:${scratch.at('up', 'src')}`);
    assert.equal(readdirSync(scratch.at('up', 'src')).length, 20);
  });
});

test('sluice cp without a server says how to name one', async () => {
  using scratch = new Scratch();
  const env = { XDG_RUNTIME_DIR: scratch.path, SLUICE_URL: undefined };
  const { status, stderr } = await sluice(['cp', 'a', ':b'], { env });
  assert.equal(status, 125);
  assert.match(stderr, /no server is running; name one with --connect/);
});
