// A run that is stopped, interrupted or finished at any moment: the program is gone, and the outcome describes what happened.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, connect, connectInProcess } from '#src/index.js';
import { type AgentOptions, type SeenEvent, startAgent } from '#src/runner/index.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';
import { fixtureAdapter } from './fixture-adapter.js';

const env = { PATH: process.env['PATH'] ?? '' };
const cutOff = { isError: true, reason: 'processEnded', text: '' };

function start(client: Client, prompt: string, more: Partial<AgentOptions> = {}) {
  return startAgent({ client, adapter: fixtureAdapter(), cwd: '/', env, prompt, ...more });
}

async function typesOf(events: AsyncIterable<SeenEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  return types;
}

/** The state of every process that the server has started. */
async function states(client: Client): Promise<string[]> {
  return (await client.list()).map(({ state }) => state);
}

describe('a run whose start is still in flight over a WebSocket', () => {
  guardAgainstLeaks();

  test('is stopped as soon as the program has started, before its first prompt', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url);
    server.child.kill('SIGSTOP'); // the start is sent, and no reply can arrive
    const run = start(client, 'hello');
    const stopping = run.stop();
    server.child.kill('SIGCONT');
    assert.equal((await stopping).kind, 'interrupted');
    assert.deepEqual(await run.firstTurn.result, cutOff);
    assert.deepEqual(await states(client), ['closed']);
  });

  test('is ended by a watchdog that fires before the program has started', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url);
    const clock = new FakeClock();
    server.child.kill('SIGSTOP');
    const run = start(client, 'hello', { clock, totalTimeoutMs: 1_000 });
    await clock.advance(1_000);
    server.child.kill('SIGCONT');
    const { kind, watchdog } = await run.outcome;
    assert.deepEqual({ kind, watchdog }, { kind: 'timedOut', watchdog: 'total' });
    assert.deepEqual(await run.firstTurn.result, cutOff);
    assert.deepEqual(await states(client), ['closed']);
  });

  test('is stopped even if the connection is cut before the reply', async () => {
    await using server = await SluiceServer.start('websocket', ['--allow-host', '127.0.0.1']);
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    server.child.kill('SIGSTOP');
    const run = start(client, 'hello');
    const stopping = run.stop();
    const unblock = proxy.block();
    server.child.kill('SIGCONT');
    unblock();
    assert.equal((await stopping).kind, 'interrupted');
    assert.deepEqual(await run.firstTurn.result, cutOff);
    assert.deepEqual(
      (await states(client)).filter((state) => state !== 'closed'),
      [],
    );
  });

  test('is lost when it is stopped and the server never comes back', async () => {
    await using server = await SluiceServer.start('unix');
    const client = await connect(server.url);
    server.child.kill('SIGSTOP');
    const run = start(client, 'hello');
    const stopping = run.stop();
    server.child.kill('SIGKILL');
    assert.equal((await stopping).kind, 'lost');
  });

  test('passes an interrupt on after the first prompt', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url);
    server.child.kill('SIGSTOP');
    const run = start(client, 'hang', { turnTimeoutMs: 10_000 });
    const interrupting = run.interrupt();
    server.child.kill('SIGCONT');
    await interrupting;
    assert.deepEqual(await run.firstTurn.result, { isError: true, reason: 'aborted', text: '' });
    assert.equal((await run.finish()).kind, 'interrupted');
  });
});

describe('a run', () => {
  guardAgainstLeaks();

  test('that is stopped right after its start is interrupted, and its program never sees the prompt', async () => {
    await using client = connectInProcess();
    const run = start(client, 'hello');
    assert.equal((await run.stop()).kind, 'interrupted');
    assert.deepEqual(await run.firstTurn.result, cutOff);
    assert.deepEqual(
      (await typesOf(run.events)).filter((type) => type === 'text'),
      [],
    );
  });

  test('that is stopped while a prompt is queued is interrupted, and does not begin that turn', async () => {
    await using client = connectInProcess();
    const run = start(client, 'one');
    const second = run.send('two');
    await run.firstTurn.result;
    assert.equal((await run.stop()).kind, 'interrupted');
    assert.deepEqual(await second.result, cutOff);
    assert.deepEqual(await typesOf(second.events), []);
  });

  test('that is stopped after a failed turn has failed', async () => {
    await using client = connectInProcess();
    const run = start(client, 'fail');
    await run.firstTurn.result;
    const { kind, problem } = await run.stop();
    assert.deepEqual({ kind, problem }, { kind: 'failed', problem: 'overloaded' });
  });

  test('whose prompt cannot be written has failed, and its program is gone', async () => {
    await using client = connectInProcess({ limits: { stdinWindowBytes: 1_000, stdinCapBytes: 1_000 } });
    const adapter = { ...fixtureAdapter(), command: () => ({ argv: ['sleep', '600'] }) };
    const run = start(client, 'x'.repeat(1_000_000), { adapter });
    const { kind, problem = '' } = await run.outcome;
    assert.equal(kind, 'failed');
    assert.match(problem, /stdin/);
    assert.deepEqual(await states(client), ['closed']);
  });

  test('whose program closed its stdin ends the program at the next prompt, and reports why', async () => {
    await using client = connectInProcess({ limits: { stdinWindowBytes: 0 } }); // a write waits until the pipe has taken it
    const clock = new FakeClock();
    const script = `read -r _; exec <&-; echo '{"type":"session","id":"s"}'; echo '{"type":"end"}'; exec sleep 600`;
    const adapter = { ...fixtureAdapter(), command: () => ({ argv: ['sh', '-c', script] }) };
    const run = start(client, 'one', { adapter, clock });
    await run.firstTurn.result;
    const second = run.send('two');
    await eventually(async () => {
      await clock.advance(5_000); // the patience for a last explanation
      assert.deepEqual(await states(client), ['closed']);
    });
    assert.deepEqual(await second.result, cutOff);
    const { kind, problem } = await run.outcome;
    const expected = 'the program closed its stdin, so the prompt could not be written';
    assert.deepEqual({ kind, problem }, { kind: 'failed', problem: expected });
  });

  test('takes no prompt once it is finishing', async () => {
    await using client = connectInProcess();
    const run = start(client, 'one');
    const second = run.send('two');
    const finishing = run.finish();
    assert.throws(() => run.send('three'), /takes no more prompts/);
    assert.equal((await second.result).text, 'echo 2: two');
    assert.equal((await finishing).kind, 'completed');
  });

  test('starts no other program for queued prompts when its own has died', async () => {
    await using client = connectInProcess();
    const run = start(client, 'die');
    const second = run.send('two');
    assert.equal((await run.outcome).kind, 'failed');
    assert.deepEqual(await second.result, cutOff);
    assert.deepEqual(await states(client), ['closed']);
    assert.equal((await typesOf(run.events)).at(-1), 'ended');
  });
});
