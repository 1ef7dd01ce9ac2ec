// `sluice agent` through the built program, with a small agent program of our own.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readProcTable } from '#src/process/end/proc-table.js';
import type { AgentEvent, RunSummary } from '#src/runner/index.js';
import { InTerminal, collect, ended, sluice, startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { fakeClaudeIn } from '../support/fake-claude.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { SluiceServer, program as sluiceProgram } from '../support/sluice-server.js';

const program = [process.execPath, fileURLToPath(new URL('../fixtures/agent.js', import.meta.url)), ''];
const adapter = ['--adapter', 'jsonl', '--turn-end', 'type=end'];

describe('sluice agent', () => {
  let folder = '';
  let env: Readonly<Record<string, string>> = {};
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    env = { XDG_STATE_HOME: folder };
  });
  after(() => rmSync(folder, { recursive: true }));
  guardAgainstLeaks();

  const run = (flags: readonly string[], prompt: string, input = '') =>
    sluice(['agent', 'run', ...adapter, ...flags, prompt, '--', ...program], { env, input });

  test('runs a program, shows what it does, and exits as the run ended', async () => {
    const { status, stdout, stderr } = await run([], 'hello');
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    assert.match(stdout, /^> hello\n[^]*"text":"hello"[^]*\ncompleted; exit code 0\n$/);
  });

  test('sends further prompts from stdin, and prints events as JSON', async () => {
    const { status, stdout } = await run(['--json', '--prompts-from-stdin'], 'one', 'two\n\nthree\n');
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AgentEvent);
    assert.equal(status, 0);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index + 1),
    );
    assert.deepEqual(
      events.flatMap((event) => (event.type === 'turnStarted' ? [event.prompt] : [])),
      ['one', 'two', 'three'],
    );
    assert.deepEqual(events.at(-1)?.type, 'ended');
  });

  test('exits with 1 when the program dies, 124 when nothing happens, 125 when it never started or its server is lost', async () => {
    assert.equal((await run(['--prompts-from-stdin'], 'one', 'die\n')).status, 1);
    assert.equal((await run(['--idle-timeout', '300ms'], 'hang')).status, 124);
    assert.equal((await run(['--turn-timeout', '300ms'], 'hang')).status, 124);
    assert.equal((await run(['--timeout', '300ms'], 'hang')).status, 124);
    const missing = await sluice(['agent', 'run', ...adapter, 'x', '--', 'no-such-agent'], { env });
    assert.equal(missing.status, 125);
    assert.match(missing.stdout, /neverStarted; program "no-such-agent" not found/);
    assert.equal((await run([], 'die')).status, 125); // killed before it had answered anything
  });

  test('runs it on a server, and on a terminal', async () => {
    await using server = await SluiceServer.start('unix');
    const remote = await run(['--connect', server.url, '-C', '/', '-e', 'A=1'], 'far away');
    assert.equal(remote.status, 0);
    assert.match(remote.stdout, /"text":"far away"/);
    const onTerminal = await run(['-t'], 'typed');
    assert.match(onTerminal.stdout, /"text":"typed"/);
  });

  test('works in the home of the server’s user with --connect, and where --via launched the server, unless -C is given', async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    const where = ['--', 'sh', '-c', `read -r line; echo "{\\"in\\":\\"$PWD\\"}"; echo '{"type":"end"}'`];
    const folderOf = async (flags: readonly string[]) => {
      const { stdout, stderr } = await sluice(['agent', 'run', ...adapter, '--json', ...flags, 'x', ...where], { env });
      return /"in":"([^"]*)"/.exec(stdout)?.[1] ?? assert.fail(stdout + stderr);
    };
    await using server = await SluiceServer.start('websocket', [], { env: { HOME: home } });
    assert.equal(await folderOf(['--connect', server.url]), home);
    assert.equal(await folderOf(['--connect', server.url, '-C', '/']), '/');
    const via = ['--via', `sh -c 'cd ${home} && exec "$0" "$@"' ${process.execPath}`, '--remote-sluice', sluiceProgram];
    assert.equal(await folderOf(via), home);
  });

  test('names the flag that helps when the log cannot be created', async () => {
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    const { status, stderr, stdout } = await sluice(['agent', 'run', ...adapter, 'x', '--', ...program], {
      env: { XDG_STATE_HOME: undefined, HOME: file },
    });
    assert.deepEqual([status, stdout], [125, '']);
    assert.match(stderr, /^sluice: the run cannot be logged \(ENOTDIR: .*\); name another folder with --log-dir\n$/);
    const elsewhere = await sluice(['agent', 'run', ...adapter, '--log-dir', folder, 'x', '--', ...program], {
      env: { XDG_STATE_HOME: undefined, HOME: file },
    });
    assert.deepEqual([elsewhere.status, elsewhere.stderr], [0, '']);
  });

  test('reports that a home folder is read-only', { skip: whyNoReadOnly() }, async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    const readOnly = ['--dev-bind', '/', '/', '--ro-bind', home, home];
    const command = [process.execPath, '--', sluiceProgram, 'agent', 'run', ...adapter, 'x', '--', ...program];
    const { XDG_STATE_HOME: _, ...variables } = process.env;
    const { stderr } = spawnSync('bwrap', [...readOnly, ...command], { encoding: 'utf8', env: { ...variables, HOME: home } });
    assert.match(stderr, /^sluice: the run cannot be logged \(EROFS: .*\); name another folder with --log-dir\n$/);
  });

  test('interrupts the turn with the first Ctrl-C, and ends everything with the second', async () => {
    const script = `heard() { echo '{"heard":"INT"}'; }; trap heard INT; echo '{"ready":true}'; while :; do sleep 0.05; done`;
    const child = startSluice(['agent', 'run', '--json', ...adapter, 'hang', '--', 'sh', '-c', script], { env });
    const out = collect(child.stdout);
    const hasPrinted = (text: RegExp) => eventually(() => assert.match(Buffer.concat(out).toString(), text));
    await hasPrinted(/"ready":true/);
    child.kill('SIGINT');
    await hasPrinted(/"heard":"INT"/);
    child.kill('SIGINT');
    assert.equal(await ended(child), 130);
    await hasPrinted(/"kind":"interrupted"/);
  });

  test('ends everything on SIGTERM', async () => {
    const child = startSluice(['agent', 'run', '--json', ...adapter, 'hang', '--', ...program], { env });
    const out = collect(child.stdout);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    assert.equal(await ended(child), 130);
    assert.match(Buffer.concat(out).toString(), /"kind":"interrupted"/);
  });

  test('leaves nothing running and a readable log when it is killed in the middle of a turn', async () => {
    const child = startSluice(['agent', 'run', '--json', ...adapter, 'hang killed', '--', ...program], { env });
    const out = collect(child.stdout);
    await eventually(() => assert.match(Buffer.concat(out).toString(), /session-1/));
    const [agentPid = 0] = (await readProcTable()).entries
      .filter(({ ppid, isZombie }) => ppid === child.pid && !isZombie)
      .map(({ pid }) => pid)
      .toSorted((a, b) => b - a);
    child.kill('SIGKILL');
    await ended(child);
    await eventually(async () => assert.deepEqual(await living([agentPid]), []));
    const { stdout } = await sluice(['agent', 'logs', '--json'], { env });
    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as RunSummary;
    assert.equal(last.outcome, undefined);
    assert.match((await sluice(['agent', 'logs'], { env })).stdout, new RegExp(`^${last.runId}  jsonl   crashed`, 'm'));
    const shown = await sluice(['agent', 'logs', last.runId], { env });
    assert.match(shown.stdout, /^> hang killed\n/);
    const note = `sluice: run ${last.runId} never ended: the process that ran it is gone\n`;
    assert.deepEqual([shown.status, shown.stderr], [0, note]);
    const followed = await sluice(['agent', 'logs', '-f', last.runId], { env });
    assert.deepEqual(followed, { status: 125, stdout: shown.stdout, stderr: note });
  });

  test('lists runs, shows one again, and follows it', async () => {
    const runs = (await sluice(['agent', 'logs', '--json'], { env })).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as RunSummary);
    const completed = runs.find(({ outcome }) => outcome === 'completed') ?? assert.fail('no run');
    assert.match((await sluice(['agent', 'logs'], { env })).stdout, new RegExp(`^${completed.runId}  jsonl   completed`, 'm'));
    const shown = await sluice(['agent', 'logs', '-f', completed.runId], { env });
    assert.match(shown.stdout, /^> hello\n[^]*completed; exit code 0\n$/);
    const json = await sluice(['agent', 'logs', '--json', completed.runId], { env });
    assert.equal((JSON.parse(json.stdout.split('\n')[0] ?? '') as { type: string }).type, 'run');
    assert.match(
      (await sluice(['agent', 'logs', 'no-such'], { env })).stderr,
      /there is no run "no-such"; "sluice agent logs" lists them/,
    );
    // The beginning of a name does not match.
    const year = completed.runId.slice(0, 4);
    const begun = await sluice(['agent', 'logs', year], { env });
    assert.deepEqual([begun.status, begun.stdout], [125, '']);
    const newest = runs.at(-1)?.runId ?? '';
    assert.match(begun.stderr, new RegExp(`^sluice: there is no run "${year}"; \\d+ names begin with .*${newest}\\.\\.\\.\\n$`));
    const almost = await sluice(['agent', 'logs', completed.runId.slice(0, -1)], { env });
    assert.deepEqual(
      [almost.status, almost.stderr],
      [125, `sluice: there is no run "${completed.runId.slice(0, -1)}"; did you mean ${completed.runId}?\n`],
    );
  });

  test('totals what runs have used, by run, day and model', async () => {
    for (const by of ['run', 'day', 'model']) {
      const { stdout } = await sluice(['agent', 'usage', '--by', by], { env });
      assert.match(stdout, new RegExp(`^${by.toUpperCase()} +INPUT +OUTPUT +CACHE READ +CACHE WRITE +COST\\n[^]*total `));
    }
    assert.match((await sluice(['agent', 'usage', '--json'], { env })).stdout, /^\{"runId":/);
  });

  describe('with claude', () => {
    const answers = (stdout: string) =>
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as AgentEvent)
        .flatMap((event) => (event.type === 'turnEnded' ? [event.result.text] : []));
    let claude: Readonly<Record<string, string>> = {};
    before(() => {
      fakeClaudeIn(folder);
      claude = { ...env, PATH: `${folder}:${process.env['PATH']}` };
    });

    test('answers permission requests with deny unless --permissions is allow', async () => {
      for (const [flags, answer] of [
        [[], 'deny'],
        [['--permissions', 'deny'], 'deny'],
        [['--permissions', 'allow'], 'allow'],
      ] as const) {
        const { status, stdout } = await sluice(['agent', 'run', '--json', ...flags, 'use a tool'], { env: claude });
        assert.deepEqual([status, answers(stdout)], [0, [`it was ${answer}`]]);
      }
    });

    test('exits with 75 at a rate limit, or waits for it', async () => {
      const limited = await sluice(['agent', 'run', '--json', 'run into a limit'], { env: claude });
      assert.equal(limited.status, 75);
      assert.match(limited.stdout, /"kind":"rateLimited".*"resetsAt":\d+/);
      const waited = await sluice(['agent', 'run', '--json', '--wait-for-limits', 'run into a limit'], { env: claude });
      assert.deepEqual([waited.status, answers(waited.stdout)], [0, ['2: run into a limit']]);
      const watched = await sluice(['agent', 'run', '--wait-for-limits', 'run into a limit'], { env: claude });
      assert.match(watched.stdout, /\nrate limit reached until .*\nwaiting \d+ s for a rate limit\n2: run into a limit\n/);
    });

    test('resumes a session by its id or by its run, in the same folder, from another log folder', async () => {
      const logs = ['--log-dir', join(folder, 'other')];
      await sluice(['agent', 'run', ...logs, '-C', '/', 'begin'], { env: claude });
      const [summary] = (await sluice(['agent', 'logs', '--json', ...logs], { env: claude })).stdout.trim().split('\n');
      const { runId, sessionId, cwd } = JSON.parse(summary ?? '') as RunSummary;
      assert.deepEqual([sessionId, cwd], ['session-c', '/']);
      for (const name of [runId, 'session-c']) {
        const { status, stdout } = await sluice(['agent', 'resume', '--json', ...logs, name, 'go', 'on'], { env: claude });
        assert.deepEqual([status, answers(stdout)], [0, ['1: go on']]);
        assert.match(stdout, /"sessionId":"session-c"/);
      }
    });
  });

  test('has nothing to show before the first run', async () => {
    const nowhere = { XDG_STATE_HOME: join(folder, 'nowhere') };
    assert.deepEqual(await sluice(['agent', 'logs'], { env: nowhere }), { status: 0, stdout: '', stderr: '' });
    assert.match((await sluice(['agent', 'usage'], { env: nowhere })).stdout, /^RUN .*\ntotal +0 /);
  });

  test('reports what is wrong in one line', async () => {
    const problems: readonly [readonly string[], RegExp][] = [
      [[], /agent needs one of run, resume, logs, usage, got ""/],
      [['walk'], /agent needs one of run, resume, logs, usage, got "walk"/],
      [['run'], /agent needs a prompt, as in: sluice agent run "fix the failing test"/],
      [['resume'], /agent resume needs a session or a run/],
      [['run', '--adapter', 'jsonl', 'x'], /--adapter jsonl needs its program after two dashes/],
      [['run', '--adapter', 'other', 'x'], /--adapter must be one of claude, codex, jsonl, got "other"/],
    ];
    for (const [args, problem] of problems) {
      const { status, stdout, stderr } = await sluice(['agent', ...args], { env });
      assert.deepEqual([status, stdout], [125, '']);
      assert.match(stderr, problem);
      assert.match(stderr, /^sluice: [^\n]*\n$/);
    }
  });

  test('uses colours only on a terminal', async () => {
    await using terminal = await InTerminal.open(['agent', 'run', ...adapter, 'hello', '--', ...program], { env });
    assert.match((await terminal.rest()).text, /\p{Cc}\[1m> hello/u);
  });
});

function whyNoReadOnly(): string | false {
  const { status } = spawnSync('bwrap', ['--dev-bind', '/', '/', 'true']);
  return status === 0 ? false : 'a read-only folder needs bubblewrap, which does not work here';
}
