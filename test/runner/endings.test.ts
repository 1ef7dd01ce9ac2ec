// How runs end: at the right time by the test's clock, with a description of what went wrong, and with an end for every turn that began.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, connectInProcess } from '#src/index.js';
import { type AgentAdapter, type AgentOptions, type AgentRun, type SeenEvent, startAgent } from '#src/runner/index.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { fixtureAdapter } from './fixture-adapter.js';

const env = { PATH: process.env['PATH'] ?? '' };

function start(client: Client, prompt: string, more: Partial<AgentOptions> = {}) {
  return startAgent({ client, adapter: fixtureAdapter(), cwd: '/', env, prompt, ...more });
}

/** The fixture's lines, printed by a shell script instead. */
function scripted(script: string, turnsPerProcess: AgentAdapter['turnsPerProcess'] = 'many'): AgentAdapter {
  return { ...fixtureAdapter(turnsPerProcess), command: () => ({ argv: ['sh', '-c', script] }) };
}

async function seen(run: AgentRun, type: SeenEvent['type']): Promise<SeenEvent> {
  for await (const event of run.events) if (event.type === type) return event;
  return assert.fail(`there was no ${type} event`);
}

/** Turn and reason of every turn's end. */
async function turnEnds(run: AgentRun): Promise<string[]> {
  const ends: string[] = [];
  for await (const event of run.events) if (event.type === 'turnEnded') ends.push(`${event.turn} ${event.result.reason}`);
  return ends;
}

describe('a run with timeouts', () => {
  guardAgainstLeaks();

  test('is idle when its idle timeout has passed, and not before', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'hang', { clock, idleTimeoutMs: 1_500, idleBy: 'output' });
    await seen(run, 'session');
    await clock.advance(1_499);
    assert.equal(run.isOver, false);
    await clock.advance(1);
    const { kind, watchdog, problem } = await run.outcome;
    assert.deepEqual([kind, watchdog, problem], ['idleTimedOut', 'idle', 'nothing happened for 1.5 s']);
    assert.equal(clock.elapsed(), 1_500);
  });

  test('times out when its turn’s time has passed, and not before', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'hang', { clock, turnTimeoutMs: 1_500 });
    await seen(run, 'session');
    await clock.advance(1_499);
    assert.equal(run.isOver, false);
    await clock.advance(1);
    const { kind, watchdog, problem } = await run.outcome;
    assert.deepEqual([kind, watchdog, problem], ['timedOut', 'turn', 'the turn took longer than 1.5 s']);
  });

  test('has no timeouts when they are 0', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'hang', { clock, idleTimeoutMs: 0, turnTimeoutMs: 0, totalTimeoutMs: 0 });
    await seen(run, 'session');
    assert.deepEqual(clock.pendingMs, []);
    await clock.advance(86_400_000);
    assert.equal(run.isOver, false);
    await run.stop();
  });

  test('is not ended while it waits for the answer to a permission request', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'ask', { clock, idleTimeoutMs: 1_000, turnTimeoutMs: 5_000, idleBy: 'output' });
    await seen(run, 'permission');
    await clock.advance(86_400_000);
    assert.equal(run.isOver, false);
    await run.answer('request-1', { behavior: 'allow' });
    assert.equal((await run.firstTurn.result).isError, false);
    const second = run.send('hang');
    await clock.advance(1_000);
    assert.deepEqual((await run.outcome).watchdog, 'idle');
    assert.equal((await second.result).reason, 'processEnded');
  });

  test('is watched again once the program has withdrawn its request', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const script = `read -r _; echo '{"type":"ask","id":"1","tool":"t"}'; read -r _; echo '{"type":"withdraw","id":"1"}'; exec sleep 600`;
    const run = start(client, 'x', { adapter: scripted(script), clock, idleTimeoutMs: 1_000, idleBy: 'output' });
    await seen(run, 'permission');
    await clock.advance(5_000);
    assert.equal(run.isOver, false);
    await run.interrupt(); // a line, upon which this program withdraws its request
    await seen(run, 'permissionWithdrawn');
    await clock.advance(1_000);
    assert.equal((await run.outcome).kind, 'idleTimedOut');
  });

  test('may wait for a rate limit longer than a turn may take, and then has the rest of its turn’s time', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const limits = { idleTimeoutMs: 10_000, idleBy: 'output', turnTimeoutMs: 10_000 } as const;
    const run = start(client, 'limited 3600000', { clock, ...limits, onRateLimit: 'wait' });
    await eventually(() => assert.deepEqual(clock.pendingMs, [3_600_000]));
    await clock.advance(3_600_000);
    assert.equal((await run.firstTurn.result).text, 'echo 2: limited 3600000');
    assert.equal((await run.finish()).kind, 'completed');
  });
});

describe('a program that does not exit after a good turn', () => {
  guardAgainstLeaks();

  test('is terminated after 30 s; the run is completed, with a note', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'stay', { clock });
    await run.firstTurn.result;
    const finishing = run.finish();
    await eventually(() => assert.deepEqual(clock.pendingMs, [30_000]));
    await clock.advance(29_999);
    assert.equal((await client.list())[0]?.state, 'running');
    await clock.advance(1);
    const { kind, exit, note, problem } = await finishing;
    assert.deepEqual([kind, exit?.kind, problem], ['completed', 'signal', undefined]);
    assert.equal(note, 'the program did not exit within 30 s after its last turn, and was terminated');
  });

  test('is terminated after the configured patience, even if each turn has its own process', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'stay', { clock, adapter: fixtureAdapter('one'), exitPatienceMs: 2_000, idleTimeoutMs: 1_000 });
    await seen(run, 'turnEnded');
    await eventually(() => assert.deepEqual(clock.pendingMs, [2_000])); // the turn has ended, and with it its timeouts
    await clock.advance(2_000);
    assert.equal((await run.firstTurn.result).isError, false);
    assert.equal((await run.send('hello').result).text, 'echo 1: hello');
    const { kind, note } = await run.finish();
    assert.deepEqual([kind, note], ['completed', 'the program did not exit within 2 s after its turn, and was terminated']);
  });

  test('does not turn a run that is stopped in the meantime into an interrupted one', async () => {
    await using client = connectInProcess();
    const run = start(client, 'stay', { adapter: fixtureAdapter('one') });
    await seen(run, 'turnEnded');
    const { kind, problem } = await run.stop();
    assert.deepEqual([kind, problem], ['completed', undefined]);
  });

  test('is left alone when the patience is 0', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'stay', { clock, exitPatienceMs: 0 });
    await run.firstTurn.result;
    const finishing = run.finish();
    await clock.advance(86_400_000);
    assert.equal((await client.list())[0]?.state, 'running');
    await run.stop();
    assert.equal((await finishing).kind, 'completed');
  });
});

describe('a program that closes its stdout and keeps running', () => {
  guardAgainstLeaks();

  test('has failed if it is in the middle of a turn, once its exit patience has passed', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'mute', { clock });
    await eventually(() => assert.deepEqual(clock.pendingMs, [30_000]));
    await clock.advance(30_000);
    const { kind, problem } = await run.outcome;
    const expected = 'the program did not exit within 30 s after closing its stdout, and was terminated';
    assert.deepEqual([kind, problem], ['failed', expected]);
    assert.deepEqual(await turnEnds(run), ['1 processEnded']);
  });

  test('has completed after a good turn', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const script = `read -r _; echo '{"type":"end","reason":"completed"}'; exec >&-; exec sleep 600`;
    const run = start(client, 'x', { adapter: scripted(script), clock });
    await eventually(() => assert.deepEqual(clock.pendingMs, [30_000]));
    await clock.advance(30_000);
    assert.equal((await run.outcome).kind, 'completed');
    assert.throws(() => run.send('more'), /the run has ended/);
  });
});

describe('the problem', () => {
  guardAgainstLeaks();

  const exits: readonly [string, string, string][] = [
    ['exits silently', 'exit 3', 'the program exited with code 3 before its turn had ended'],
    ['is killed', 'kill -9 $$', 'the program was killed by SIGKILL before its turn had ended'],
    ['prints the reason on stderr', 'echo no such model >&2; exit 3', 'no such model'],
    ['prints the reason on stdout, in plain text', 'echo Credit balance is too low; exit 1', 'Credit balance is too low'],
    [
      'ends a turn with an error without a reason',
      `echo '{"type":"end","reason":"","error":true}'`,
      'the turn failed and the program gave no reason',
    ],
    ['exits with an error after a good turn', `echo '{"type":"end"}'; exit 9`, 'the program exited with code 9 after its turn'],
  ];
  for (const [does, script, problem] of exits) {
    test(`of a program that ${does} is: ${problem}`, async () => {
      await using client = connectInProcess();
      const run = start(client, 'x', { adapter: scripted(`read -r _; ${script}`) });
      assert.equal((await run.outcome).problem, problem);
    });
  }

  test('of a run that was stopped in a turn is that it was interrupted', async () => {
    await using client = connectInProcess();
    const run = start(client, 'hang');
    await seen(run, 'session');
    assert.equal((await run.stop()).problem, 'the run was interrupted before its turns had ended');
  });

  test('of an earlier turn is not that of a later one', async () => {
    await using client = connectInProcess();
    const run = start(client, 'fail');
    assert.equal((await run.firstTurn.result).text, 'overloaded');
    run.send('die');
    const { kind, problem } = await run.outcome;
    assert.deepEqual([kind, problem], ['failed', 'the program was killed by SIGKILL before its turn had ended']);
  });
});

describe('a program without a session', () => {
  guardAgainstLeaks();

  test('has started if it printed text and exited with 0', async () => {
    await using client = connectInProcess();
    const run = start(client, 'x', { adapter: scripted('read -r _; echo Hello there.') });
    const { kind, problem } = await run.outcome;
    const expected = 'the program exited with code 0 before its turn had ended: Hello there.';
    assert.deepEqual([kind, problem], ['failed', expected]);
  });

  test('has started if it printed part of an answer, however it ended', async () => {
    await using client = connectInProcess();
    const run = start(client, 'x', { adapter: scripted(`read -r _; echo '{"type":"text","text":"Hel"}'; kill -9 $$`) });
    assert.equal((await run.outcome).kind, 'failed');
  });

  test('has never started if it printed text and exited with an error', async () => {
    await using client = connectInProcess();
    const run = start(client, 'x', { adapter: scripted('read -r _; echo usage: agent; exit 2') });
    assert.equal((await run.outcome).kind, 'neverStarted');
  });
});

describe('a turn that began', () => {
  guardAgainstLeaks();

  test('is reported as ended when its program died; one that did not begin is not', async () => {
    await using client = connectInProcess();
    const run = start(client, 'die');
    run.send('two');
    await run.outcome;
    assert.deepEqual(await turnEnds(run), ['1 processEnded']);
  });

  test('is reported as ended when it was stopped or timed out', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const [stopped, timedOut] = [start(client, 'hang'), start(client, 'hang', { clock, turnTimeoutMs: 50 })];
    await Promise.all([seen(stopped, 'session'), seen(timedOut, 'session')]);
    await Promise.all([stopped.stop(), clock.advance(50)]);
    for (const run of [stopped, timedOut]) assert.deepEqual(await turnEnds(run), ['1 processEnded']);
  });

  test('is reported as ended when its program could not be started', async () => {
    await using client = connectInProcess();
    const run = start(client, 'x', { adapter: { ...fixtureAdapter(), command: () => ({ argv: ['no-such-agent'] }) } });
    await run.outcome;
    assert.deepEqual(await turnEnds(run), ['1 processEnded']);
  });

  test('is reported as ended when it was stopped while waiting for a rate limit', async () => {
    await using client = connectInProcess();
    const clock = new FakeClock();
    const run = start(client, 'limited 3600000', { clock, onRateLimit: 'wait' });
    await eventually(() => assert.deepEqual(clock.pendingMs, [3_600_000]));
    await run.stop();
    assert.deepEqual(await turnEnds(run), ['1 rate_limited']);
  });
});
