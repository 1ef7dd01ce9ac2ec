// A run against a small agent program: turns, events, outcomes, watchdogs, logs; on real processes.

import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Client, connect, connectInProcess } from '#src/index.js';
import {
  type AgentOptions,
  type AgentRun,
  type LogLine,
  type Outcome,
  type SeenEvent,
  readRun,
  startAgent,
} from '#src/runner/index.js';
import { thisWriter } from '#src/runner/run-writer.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { SluiceServer } from '../support/sluice-server.js';
import { fixtureAdapter } from './fixture-adapter.js';

const env = { PATH: process.env['PATH'] ?? '' };

function start(client: Client, prompt: string, more: Partial<AgentOptions> = {}) {
  return startAgent({ client, adapter: fixtureAdapter(), cwd: '/', env, prompt, ...more });
}

async function all(events: AsyncIterable<SeenEvent>): Promise<SeenEvent[]> {
  const seen: SeenEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** Brief, without what differs from run to run. */
function brief(events: readonly SeenEvent[]): string[] {
  return events.map((event) => {
    const turn = event.type === 'gap' ? '' : event.turn;
    if (event.type === 'text') return `${turn} text ${event.text.length > 100 ? event.text.length : event.text}`;
    if (event.type === 'turnStarted') return `${turn} turnStarted ${event.prompt}`;
    if (event.type === 'turnEnded') return `${turn} turnEnded ${event.result.reason}`;
    if (event.type === 'raw') return `${turn} raw ${event.stream} ${JSON.stringify(event.line)}`;
    if (event.type === 'ended') return `${turn} ended ${event.outcome.kind}`;
    if (event.type === 'status') return `${turn} status ${event.status}`;
    return `${turn} ${event.type}`;
  });
}

const oneTurn = (turn: number, prompt: string, count = turn) => [
  `${turn} turnStarted ${prompt}`,
  ...(turn === 1 ? ['1 launching', '1 session'] : []),
  `${turn} text echo ${count}: `,
  `${turn} text ${prompt}`,
  `${turn} usage`,
  `${turn} turnEnded completed`,
];

async function pidOf(run: AgentRun, client: Client): Promise<number> {
  for await (const event of run.events) if (event.type === 'session') break;
  const [status] = await client.list();
  return status?.pid ?? assert.fail('no process');
}

describe('a run', () => {
  guardAgainstLeaks();

  test('takes any number of turns in one process, and gives every reader all events from the start', async () => {
    await using client = connectInProcess();
    const run = start(client, 'hello');
    const early = all(run.events);
    const tokens = { inputTokens: 10, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const used = { models: { fixture: tokens }, costUsd: 0.01 };
    assert.deepEqual(await run.firstTurn.result, { isError: false, reason: 'completed', text: 'echo 1: hello', usage: used });
    const second = run.send('again');
    assert.deepEqual(brief(await all(second.events)), oneTurn(2, 'again'));
    assert.deepEqual((await second.result).usage, used); // of this turn, not of both
    const outcome = await run.finish();
    assert.deepEqual(
      [outcome.kind, outcome.sessionId, outcome.usage?.models['fixture']?.inputTokens, outcome.usage?.costUsd],
      ['completed', 'session-1', 20, 0.02],
    );
    const expected = [...oneTurn(1, 'hello'), ...oneTurn(2, 'again'), '2 ended completed'];
    assert.deepEqual(brief(await early), expected);
    const late = await all(run.events);
    assert.deepEqual(brief(late), expected);
    assert.deepEqual(
      late.map((event) => (event.type === 'gap' ? 0 : event.seq)),
      expected.map((_, index) => index + 1),
    );
  });

  test('queues prompts sent during a turn', async () => {
    await using client = connectInProcess();
    const run = start(client, 'one');
    const turns = [run.firstTurn, run.send('two'), run.send('three')];
    const texts = await Promise.all(turns.map(async ({ result }) => (await result).text));
    assert.deepEqual(texts, ['echo 1: one', 'echo 2: two', 'echo 3: three']);
    assert.equal((await run.finish()).kind, 'completed');
    assert.throws(() => run.send('four'), /the run has ended/);
  });

  test('starts a process for every turn if the program takes only one, and resumes the previous session', async () => {
    await using client = connectInProcess();
    const run = start(client, 'one', { adapter: fixtureAdapter('one') });
    await run.firstTurn.result;
    assert.equal((await run.send('two').result).text, 'echo 1: two');
    assert.equal((await run.finish()).kind, 'completed');
  });

  test('gives the program its own environment and its machine’s core variables, without the excluded ones', async () => {
    await using client = connectInProcess({ surroundings: { cwd: '/', env: { ...env, HOME: '/somewhere', OTHER: '1' } } });
    const adapter = {
      ...fixtureAdapter(),
      command: () => ({
        argv: ['sh', '-c', 'echo "$HOME|${OTHER-none}|$MINE|${NESTED-none}|$SET"'],
        env: { SET: 'by adapter' },
        unset: ['NESTED'],
      }),
    };
    const run = start(client, 'x', { adapter, env: { MINE: 'mine', NESTED: '1' } });
    await run.outcome;
    assert.ok(brief(await all(run.events)).includes('1 raw stdout "/somewhere|none|mine|none|by adapter"'));
  });

  test('refuses labels that are too long for every event or have an empty name', async () => {
    await using client = connectInProcess();
    assert.throws(() => start(client, 'x', { labels: { story: 'x'.repeat(2_000) } }), {
      message: 'labels must be at most 1024 bytes of JSON, got 2012',
    });
    assert.throws(() => start(client, 'x', { labels: { '': '42' } }), { message: 'a label must have a name' });
  });

  test('refuses an empty prompt', async () => {
    await using client = connectInProcess();
    assert.throws(() => start(client, ' ', { resume: 'session-9' }), /the prompt must not be empty/);
  });

  test('is interrupted in a turn and takes the next one', async () => {
    await using client = connectInProcess();
    const run = start(client, 'hang');
    await pidOf(run, client);
    await run.interrupt();
    assert.deepEqual(await run.firstTurn.result, { isError: true, reason: 'aborted', text: '' });
    assert.equal((await run.send('go on').result).isError, false);
    assert.equal((await run.finish()).kind, 'completed');
    const other = start(client, 'hang');
    await pidOf(other, client);
    await other.interrupt();
    await other.firstTurn.result;
    assert.equal((await other.finish()).kind, 'interrupted');
  });

  test('asks for permission and continues with the answer', async () => {
    await using client = connectInProcess();
    for (const behavior of ['allow', 'deny'] as const) {
      const run = start(client, 'ask');
      for await (const event of run.firstTurn.events) {
        if (event.type !== 'permission') continue;
        assert.equal(await run.answer('no-such', { behavior: 'deny', message: '' }), false);
        assert.equal(await run.answer(event.requestId, behavior === 'allow' ? { behavior } : { behavior, message: 'no' }), true);
      }
      const texts = (await all(takeTurn(run))).flatMap((event) => (event.type === 'text' ? [event.text] : []));
      assert.deepEqual(texts, [behavior]);
      await run.finish();
    }
  });

  test('survives noise: invalid bytes, text, unknown JSON and a line of 20 MB', async () => {
    await using client = connectInProcess();
    const run = start(client, 'noise');
    assert.equal((await run.firstTurn.result).isError, false);
    await run.finish();
    const events = brief(await all(run.events));
    assert.deepEqual(events.slice(3, 7), [
      '1 raw stdout "\ufffd\ufffd"',
      '1 raw stdout "not json"',
      '1 raw stdout {"type":"strange","deep":{"is":[1]}}',
      '1 text 20000000',
    ]);
  });
});

describe('the outcome', () => {
  guardAgainstLeaks();

  const endings: readonly [string, string, Partial<AgentOptions>, (run: AgentRun) => Promise<Outcome>, Partial<Outcome>][] = [
    [
      'failed when the last turn ended with an error',
      'fail',
      {},
      (run) => run.finish(),
      { kind: 'failed', problem: 'overloaded', sessionId: 'session-1' },
    ],
    ['failed when the program is killed in a turn', 'die', {}, (run) => run.outcome, { kind: 'failed', sessionId: 'session-1' }],
    ['failed when the program ends in the middle of a line', 'torn', {}, (run) => run.outcome, { kind: 'failed' }],
    [
      'neverStarted, with its stderr, when there is no session',
      'x',
      { args: ['--mute'] },
      (run) => run.outcome,
      { kind: 'neverStarted', problem: 'no such model' },
    ],
    [
      'neverStarted when the program does not exist',
      'x',
      { adapter: { ...fixtureAdapter(), command: () => ({ argv: ['no-such-agent'] }) } },
      (run) => run.outcome,
      { kind: 'neverStarted' },
    ],
    [
      'idleTimedOut when nothing happens for too long',
      'hang',
      { idleTimeoutMs: 200 },
      (run) => run.outcome,
      { kind: 'idleTimedOut', watchdog: 'idle' },
    ],
    [
      'idleTimedOut by output alone, even while the program works',
      'work 60000',
      { idleTimeoutMs: 500, idleBy: 'output' },
      (run) => run.outcome,
      { kind: 'idleTimedOut', watchdog: 'idle' },
    ],
    [
      'timedOut when a turn takes too long',
      'work 60000',
      { turnTimeoutMs: 300 },
      (run) => run.outcome,
      { kind: 'timedOut', watchdog: 'turn' },
    ],
    [
      'timedOut when the run takes too long',
      'hang',
      { totalTimeoutMs: 300 },
      (run) => run.outcome,
      { kind: 'timedOut', watchdog: 'total' },
    ],
    [
      'rateLimited, with the time when the limit is lifted',
      'limited 4102444800000',
      {},
      (run) => run.finish(),
      { kind: 'rateLimited', resetsAt: 4_102_444_800_000 },
    ],
  ];
  for (const [sentence, prompt, options, end, expected] of endings) {
    test(`is ${sentence}`, async () => {
      await using client = connectInProcess();
      const run = start(client, prompt, options);
      if (prompt.startsWith('limited') || prompt === 'fail') await run.firstTurn.result;
      const outcome = await end(run);
      assert.deepEqual(
        { ...outcome, exit: undefined, usage: undefined },
        { ...outcome, ...expected, exit: undefined, usage: undefined },
      );
      assert.deepEqual(
        (await client.list()).filter(({ state }) => state === 'running'),
        [],
      );
    });
  }

  test('is interrupted when the run is stopped in a turn, completed when it is stopped between turns', async () => {
    await using client = connectInProcess();
    const run = start(client, 'hang');
    const pid = await pidOf(run, client);
    assert.equal((await run.stop()).kind, 'interrupted');
    assert.deepEqual(await living([pid]), []);
    const other = start(client, 'hello');
    await other.firstTurn.result;
    assert.equal((await other.stop()).kind, 'completed');
  });

  test('is failed when the agent is killed, and its running tool is terminated too', async () => {
    await using client = connectInProcess();
    const run = start(client, 'leave');
    assert.equal((await run.outcome).kind, 'failed');
    const [pid = 0] = (await all(run.events)).flatMap((event) => (event.type === 'text' ? [Number(event.text)] : []));
    await eventually(async () => assert.deepEqual([pid > 0, await living([pid])], [true, []]));
  });

  test('is not idleTimedOut while the program works silently', async () => {
    await using client = connectInProcess();
    const run = start(client, 'work 4000', { idleTimeoutMs: 1_200 });
    assert.equal((await run.firstTurn.result).isError, false);
    assert.equal((await run.finish()).kind, 'completed');
  });

  test('is completed after waiting for a rate limit, if that is wanted, and resending the prompt', async () => {
    await using client = connectInProcess();
    const run = start(client, `limited ${Date.now() + 300}`, { onRateLimit: 'wait' });
    assert.match((await run.firstTurn.result).text, /^echo 2: limited/);
    assert.equal((await run.finish()).kind, 'completed');
    const ends = (await all(run.events)).filter(({ type }) => type === 'turnEnded');
    assert.equal(ends.length, 1); // the turn continues when the limit is lifted
    const stopped = start(client, 'limited 0', { onRateLimit: 'wait' }); // would wait for five minutes
    await eventually(async () => assert.ok(brief(await soFar(stopped)).some((line) => line.includes('status waiting 300 s'))));
    assert.equal((await stopped.stop()).kind, 'interrupted');
  });

  test('is neverStarted for a dead session, or the run starts a new one and reports that', async () => {
    await using client = connectInProcess();
    const dead = start(client, 'hello', { resume: 'dead' });
    const outcome = await dead.outcome;
    assert.deepEqual([outcome.kind, outcome.problem], ['neverStarted', 'no conversation found with session id dead']);
    const fresh = start(client, 'hello', { resume: 'dead', ifDead: 'startFresh' });
    assert.equal((await fresh.firstTurn.result).text, 'echo 1: hello');
    assert.equal((await fresh.finish()).sessionId, 'session-1');
    assert.ok(brief(await all(fresh.events)).includes('1 status session dead could not be resumed; starting a new one'));
    const gone = start(client, 'hello', { resume: 'gone' }); // reports it in its answer, as claude does
    assert.deepEqual([(await gone.outcome).kind, (await gone.outcome).problem], ['neverStarted', 'no such session']);
    const again = start(client, 'hello', { resume: 'gone', ifDead: 'startFresh' });
    assert.equal((await again.firstTurn.result).text, 'echo 1: hello');
    assert.equal((await again.finish()).kind, 'completed');
    const alive = start(client, 'hello', { resume: 'session-7' });
    await alive.firstTurn.result;
    assert.equal((await alive.finish()).sessionId, 'session-7');
  });

  test('is lost when the server is killed in a turn, and no process survives', async () => {
    await using server = await SluiceServer.start('unix');
    const client = await connect(server.url);
    const run = start(client, 'hang');
    const pid = await pidOf(run, client);
    server.child.kill('SIGKILL');
    assert.equal((await run.outcome).kind, 'lost');
    await eventually(async () => assert.deepEqual(await living([pid]), []));
  });

  test('is the same over a connection that is cut, with the same events, none repeated, none missing', async () => {
    await using server = await SluiceServer.start('websocket', ['--allow-host', '127.0.0.1']);
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    const run = start(client, 'one');
    proxy.cutRandomly(3);
    await run.firstTurn.result;
    for (let turn = 2; turn <= 20; turn += 1) await run.send(`turn ${turn}`).result;
    await proxy.reached(3);
    assert.equal((await run.finish()).kind, 'completed');
    const rest = Array.from({ length: 19 }, (_, index) => oneTurn(index + 2, `turn ${index + 2}`)).flat();
    assert.deepEqual(brief(await all(run.events)), [...oneTurn(1, 'one'), ...rest, '20 ended completed']);
  });
});

describe('the log of a run', () => {
  guardAgainstLeaks();

  test('has every event, is readable only by its owner, and can be followed while it is written', async () => {
    await using client = connectInProcess();
    const logDir = mkdtempSync(join(tmpdir(), 'sluice-'));
    try {
      const run = start(client, 'hello', { logDir });
      const file = run.logFile ?? assert.fail('no file');
      const followed = lines(file, { follow: true });
      await run.firstTurn.result;
      await run.finish();
      assert.equal(statSync(file).mode & 0o777, 0o600);
      const [header, ...events] = await lines(file);
      assert.deepEqual(header, {
        type: 'run',
        runId: run.id,
        adapter: 'fixture',
        cwd: '/',
        at: header?.at,
        writer: thisWriter(),
      });
      assert.deepEqual(events, JSON.parse(JSON.stringify(await all(run.events))));
      assert.deepEqual(await followed, [header, ...events]);
    } finally {
      rmSync(logDir, { recursive: true });
    }
  });

  test('is readable even if its last line is torn', async () => {
    await using client = connectInProcess();
    const logDir = mkdtempSync(join(tmpdir(), 'sluice-'));
    try {
      const run = start(client, 'hello', { logDir });
      await run.firstTurn.result;
      const file = run.logFile ?? assert.fail('no file');
      const before = await lines(file);
      appendFileSync(file, '{"type":"text","at":1,"te');
      assert.deepEqual(await lines(file), before);
      await run.stop();
    } finally {
      rmSync(logDir, { recursive: true });
    }
  });
});

async function lines(file: string, options: { follow?: boolean } = {}): Promise<LogLine[]> {
  const read: LogLine[] = [];
  for await (const line of readRun(file, options)) read.push(line);
  return read;
}

/** The events up to the first status. */
async function soFar(run: AgentRun): Promise<SeenEvent[]> {
  const seen: SeenEvent[] = [];
  for await (const event of run.events) {
    seen.push(event);
    if (event.type === 'status') break;
  }
  return seen;
}

async function* takeTurn(run: AgentRun): AsyncGenerator<SeenEvent> {
  for await (const event of run.events) {
    yield event;
    if (event.type === 'turnEnded') return;
  }
}
