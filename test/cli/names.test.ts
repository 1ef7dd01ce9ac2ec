// A name is reused: processes that were left running are replaced, forgotten, restarted, and grouped by labels.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ProcessStatus } from '#src/protocol/index.js';
import { Background, InTerminal, collect, ended, startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';

describe('the name of a process that was left running', () => {
  let background: Background;
  before(() => (background = new Background()));
  after(() => background[Symbol.asyncDispose]());
  guardAgainstLeaks();

  const names = async (...args: string[]) => (await background.good(['ps', '-q', ...args])).split('\n').slice(0, -1);
  const start = (name: string, ...command: string[]) => background.good(['exec', '-d', '--name', name, ...command]);
  const sleeping = ['--', 'sleep', '600'];
  const clear = async () => background.good(['rm', '--force', ...(await names())]);

  test('is taken over from an ended process, with a message, and never from a running one, for which nothing is started', async () => {
    assert.equal(await start('x', '--', 'echo', 'first'), 'x\n');
    await background.good(['wait', 'x']);
    assert.deepEqual(await background.run(['exec', '-d', '--name', 'x', '--', 'sh', '-c', 'echo second; exec sleep 600']), {
      status: 0,
      stdout: 'x\n',
      stderr: 'sluice: replaced x, which had ended\n',
    });
    await eventually(async () => assert.equal(await background.good(['logs', 'x']), 'second\n'));
    const file = `${background.folder}/ran`;
    const refused = await background.run(['exec', '-d', '--name', 'x', '--', 'touch', file]);
    assert.deepEqual([refused.status, refused.stdout], [125, '']);
    assert.match(refused.stderr, /^sluice: x is already running; "sluice kill x" ends it, "sluice restart x" starts it again\n$/);
    assert.equal((await background.run(['exec', '--', 'test', '-e', file])).status, 1);
    assert.deepEqual(await names(), ['x']);
    await clear();
  });

  test('is taken over as soon as the output of an ended process has ended too', async () => {
    await start('x', '--', 'sh', '-c', 'sleep 1 & exit 3');
    await eventually(async () => assert.deepEqual(await names('--filter', 'status=exited'), ['x']));
    assert.equal((await background.run(['exec', '-d', '--name', 'x', ...sleeping])).stdout, 'x\n');
    assert.deepEqual(await names('--running'), ['x']);
    await clear();
  });

  test('is free after rm, which refuses a running process without --force', async () => {
    await start('over', '--', 'true');
    const pid = await runningPid('runs');
    await background.good(['wait', 'over']);
    assert.deepEqual(await background.run(['rm', 'over', 'runs']), {
      status: 1,
      stdout: '',
      stderr: 'sluice: runs is still running; "sluice rm --force runs" ends it first\n',
    });
    assert.deepEqual(await names(), ['runs']);
    assert.equal(await background.good(['rm', '-f', 'runs']), '');
    assert.deepEqual([await names(), await living([pid])], [[], []]);
    assert.match((await background.run(['rm', 'runs'])).stderr, /there is no process "runs"/);
  });

  test('is free as soon as a process that was started with --rm has ended', async () => {
    await start('x', '--rm', '--', 'sh', '-c', 'read -r line');
    assert.deepEqual(await names(), ['x']);
    await background.good(['send', 'x', '--key', 'enter']);
    await eventually(async () => assert.deepEqual(await names(), []));
    await start('x', '--rm', '--', 'sh', '-c', 'echo ready; read -r line; echo "$line"');
    const follower = startSluice(['logs', '-f', 'x'], { env: background.env });
    const output = collect(follower.stdout);
    await eventually(() => assert.equal(Buffer.concat(output).toString(), 'ready\n'));
    await background.good(['send', 'x', 'said\n']);
    assert.equal(await ended(follower), 0);
    assert.equal(Buffer.concat(output).toString(), 'ready\nsaid\n');
    await eventually(async () => assert.deepEqual(await names(), []));
    await start('x', '--rm', ...sleeping);
    assert.equal(await background.good(['kill', 'x']), '');
    assert.deepEqual(await names(), []);
    // It may have ended before it was released.
    await start('x', '--rm', '--', 'true');
    await eventually(async () => assert.deepEqual(await names(), []));
  });

  test('survives a restart, as do command, folder, variables, streams and labels; no variable is shown', async () => {
    const script = 'pwd; echo "$OURS"; [ -t 0 ] && stty size; exec sleep 600';
    const args = ['exec', '-dt', '--name', 'x', '--label', 'tier=web', '--', 'sh', '-c', script];
    await background.good(args, { cwd: background.folder, env: { OURS: 'hush' } });
    const expected = `${background.folder}\nhush\n24 80\n`;
    const status = async () => (JSON.parse(await background.good(['ps', '--json'])) as ProcessStatus[])[0] ?? assert.fail('none');
    await eventually(async () => assert.equal(await background.good(['logs', 'x']), expected));
    const { pid, argv, io, metadata } = await status();
    for (const prepare of [() => '', () => background.good(['kill', 'x'])]) {
      await prepare();
      assert.equal(await background.good(['restart', 'x'], { cwd: '/', env: { OURS: 'other' } }), 'x\n');
      await eventually(async () => assert.equal(await background.good(['logs', 'x']), expected));
      const again = await status();
      assert.deepEqual([again.argv, again.io, again.metadata, again.state], [argv, io, metadata, 'running']);
      assert.notEqual(again.pid, pid);
    }
    assert.deepEqual(await living([pid]), []);
    assert.doesNotMatch(await background.good(['ps', '--json']), /hush/);
    await clear();
  });

  test('is not restarted while another terminal drives the process', async () => {
    await start('first', '--rm', '--', 'true'); // so that there is a server
    const socket = `unix://${background.folder}/sluice/socket`;
    await using terminal = await InTerminal.open(['exec', '-t', '--connect', socket, '--name', 'driven', '--', 'cat'], {
      env: background.env,
    });
    await eventually(async () => assert.deepEqual(await names(), ['driven']));
    const { status, stderr } = await background.run(['restart', 'driven']);
    assert.deepEqual([status, stderr], [125, 'sluice: driven cannot be restarted: only processes from "sluice exec -d" can\n']);
    await terminal.type('\u0004');
    await terminal.rest();
  });

  test('is found by labels, state and name; labels are shown where there are any', async () => {
    await start('web-1', '--label', 'tier=web', '-l', 'blue', ...sleeping);
    await start('web-2', '--label', 'tier=web', '--', 'true');
    await start('db', '--label', 'tier=db', ...sleeping);
    await start('plain', ...sleeping);
    await background.good(['wait', 'web-2']);
    for (const [filters, found] of [
      [['label=tier'], ['web-1', 'web-2', 'db']],
      [['label=tier=web'], ['web-1', 'web-2']],
      [['label=tier=web', 'label=blue'], ['web-1']],
      [['label=blue='], ['web-1']],
      [['label=tier=web', 'status=running'], ['web-1']],
      [['status=exited'], ['web-2']],
      [
        ['status=exited', 'status=running'],
        ['web-1', 'web-2', 'db', 'plain'],
      ],
      [
        ['name=db', 'name=plain'],
        ['db', 'plain'],
      ],
      [['name=web'], []],
      [['name=web-*'], ['web-1', 'web-2']],
      [['name=*b*1'], ['web-1']],
    ] as const) {
      assert.deepEqual(await names(...filters.flatMap((filter) => ['--filter', filter])), found, filters.join());
    }
    const table = await background.good(['ps', '-a']);
    assert.match(table, /^NAME +STATE +PID +AGE +OUTPUT +LABELS +COMMAND\n/);
    assert.match(table, /\nweb-1 .* tier=web,blue +sleep 600\n/);
    for (const wrong of ['tier=web', 'label', 'status=gone']) {
      const { status, stderr } = await background.run(['ps', '--filter', wrong]);
      assert.equal(status, 125);
      assert.match(stderr, /^sluice: --filter (?:status )?must be .*, got "[^"]*"\n$/);
    }
    for (const [wrong, problem] of [
      ['=x', /--label must be K=V, got "=x"/],
      [`k=${'x'.repeat(255)}`, /--label must have at most 256 characters, got 257/],
    ] as const) {
      assert.match((await background.run(['exec', '-d', '--label', wrong, '--', 'true'])).stderr, problem);
    }
    await clear();
  });

  async function runningPid(name: string): Promise<number> {
    await start(name, '--', 'sh', '-c', 'echo $$; exec sleep 600');
    return eventually(async () => Number(/^\d+\n/.exec(await background.good(['logs', name])) ?? assert.fail('no pid yet')));
  }
});
