// Scenarios for claude under the runner, with their expected results. The model's answers are scripted by each scenario.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { answerTo, eventually, linesOf, seen, transcriptOf } from './agent-stage.mjs';
import { piecesOf, usagePerAnswer } from './mock-messages.mjs';
import { openWireProxy } from './wire-proxy.mjs';

/** @typedef {import('./agent-stage.mjs').Scenario} Scenario */

const greeting = 'Grüße aus dem Schwarzwald: 🌲🌲, and no end of "quotes" \\ and\nlines.';

/** Creates a file to show that it runs, and runs until it is terminated. */
const endless = { command: 'touch started; while :; do sleep 1; done', description: 'Waits' };

const host = fileURLToPath(new URL('claude-host.mjs', import.meta.url));

/** @type {Record<string, Scenario>} */
export const scenarios = {
  oneShot: {
    about: 'a prompt is answered in the same pieces as the model sends, and the program exits on its own',
    async play({ start, model }) {
      model.will({ thinking: 'Hm. Let me see.', text: greeting });
      const run = start({ prompt: 'Say hello.' });
      assert.deepEqual(await answerTo(run.firstTurn), { isError: false, reason: 'completed', text: greeting });
      const { kind, exit, usage, sessionId, problem } = await run.finish();
      assert.deepEqual({ kind, code: exit.code, problem }, { kind: 'completed', code: 0, problem: undefined });
      const session = await seen(run.events, ({ type }) => type === 'session');
      assert.equal(session.sessionId, sessionId);
      assert.equal(session.model, model.asked[0].model);
      assert.deepEqual(usage.models, usageOf(1, session.model));
      assert.deepEqual(await transcriptOf(run.events), [
        '1 turnStarted Say hello.',
        '1 session',
        '1 thinking Hm. Let me see.',
        `1 text ${greeting}`,
        '1 usage',
        '1 turnEnded ok completed',
        '1 ended completed',
      ]);
      assert.deepEqual(await textsOf(run), piecesOf(greeting));
    },
  },

  turns: {
    about: 'four turns in one process, with a tool in the third; tokens and cost are totals of the session',
    async play({ start, model }) {
      const run = await fourTurns({ start, model });
      const { kind, usage } = await run.finish();
      assert.equal(kind, 'completed');
      assert.deepEqual(await transcriptOf(run.events), fourTurnsTranscript);
      const [{ model: name }] = model.asked;
      const usages = (await linesOf(run.logFile)).filter(({ type }) => type === 'usage').map((event) => event.usage);
      const answers = [1, 2, 4, 5]; // the third turn has two: the tool call and the text about its result
      assert.deepEqual(
        usages.map(({ models }) => models),
        answers.map((count) => usageOf(count, name)),
      );
      const unit = usages[0].costUsd;
      assert.ok(unit > 0, `the first turn cost ${unit}`);
      for (const [index, { costUsd }] of usages.entries())
        assert.ok(
          Math.abs(costUsd - unit * answers[index]) < 1e-9,
          `turn ${index + 1}: ${costUsd} is not ${answers[index]} × ${unit}`,
        );
      assert.deepEqual(usage, usages.at(-1));
      const ends = (await linesOf(run.logFile)).filter(({ type }) => type === 'turnEnded');
      assert.deepEqual(
        ends.map(({ result }) => result.usage?.models),
        [1, 1, 2, 1].map((count) => usageOf(count, name)),
        'usage of each turn',
      );
    },
  },

  terminal: {
    about: 'on a terminal each prompt is an argument of a process that resumes the previous session; nothing is typed or echoed',
    async play({ start, model, client }) {
      const tool = { command: 'echo "colour: ${NO_COLOR-yes}"', description: 'Looks around' };
      model.will({ text: `${greeting}${story}` }, { text: 'Looking.', tool: { name: 'Bash', input: tool } }, { text: 'Done.' });
      const prompt = '--help\nis what I need, "$HOME" and 🌲';
      const run = start({ prompt, io: 'pty', args: ['--allowedTools', 'Bash'] });
      assert.deepEqual(await answerTo(run.firstTurn), { isError: false, reason: 'completed', text: `${greeting}${story}` });
      assert.ok(
        model.asked[0].conversation.some(({ text }) => text === prompt),
        'the prompt that the model received',
      );
      assert.deepEqual((await client.list())[0].io, { kind: 'pty', rows: 50, cols: 200 });
      assert.deepEqual(await answerTo(run.send('Two.')), { isError: false, reason: 'completed', text: 'Done.' });
      const { kind, exit, note } = await run.finish();
      assert.deepEqual({ kind, code: exit.code, note }, { kind: 'completed', code: 0, note: undefined });
      assert.deepEqual(await transcriptOf(run.events), [
        `1 turnStarted ${prompt}`,
        '1 session',
        `1 text ${greeting}${story}`,
        '1 usage',
        '1 turnEnded ok completed',
        '2 turnStarted Two.',
        '2 session',
        '2 text Looking.',
        `2 toolCall Bash ${JSON.stringify(tool)}`,
        '2 toolResult ok colour: 1',
        '2 text Done.',
        '2 usage',
        '2 turnEnded ok completed',
        '2 ended completed',
      ]);
    },
  },

  terminalInterrupt: {
    about: 'a turn on a terminal is interrupted by a signal; the next one resumes the session',
    async play({ start, model }) {
      model.will({ text: 'This goes on and on', ends: 'never' }, { text: 'Here I am again.' });
      const run = start({ prompt: 'Tell a story.', io: 'pty' });
      await seen(run.firstTurn.events, ({ type }) => type === 'text');
      await run.interrupt();
      assert.equal((await run.firstTurn.result).isError, true);
      const { kind, sessionId } = await run.finish();
      assert.equal(kind, 'interrupted');
      const next = start({ prompt: 'Still there?', io: 'pty', resume: sessionId });
      assert.deepEqual(await answerTo(next.firstTurn), { isError: false, reason: 'completed', text: 'Here I am again.' });
      assert.equal((await next.finish()).kind, 'completed');
    },
  },

  priorSessions: {
    about: 'the sessions that the program has stored for the folder are counted before each run, on pipes and on a terminal',
    async play({ start, model }) {
      model.always({ text: 'Hello.' });
      const prior = [];
      for (const io of ['pipe', 'pty', 'pipe']) {
        const run = start({ prompt: 'Say hello.', io });
        const { kind, priorSessions } = await run.finish();
        assert.equal(kind, 'completed');
        const event = await seen(run.events, ({ type }) => type === 'launching');
        assert.deepEqual(event.priorSessions, priorSessions);
        prior.push(priorSessions);
      }
      assert.deepEqual(
        prior.map(({ count }) => count),
        [0, 1, 2],
      );
      assert.ok(prior[0].bytes === 0 && prior[1].bytes > 0 && prior[2].bytes > prior[1].bytes, JSON.stringify(prior));
    },
  },

  interrupt: {
    about: 'a turn is interrupted in the middle, and the same process takes the next one',
    async play({ start, model, agentPid }) {
      model.will({ text: 'This goes on and on', ends: 'never' }, { text: 'Here I am again.' });
      const run = start({ prompt: 'Tell a story.' });
      await seen(run.firstTurn.events, ({ type }) => type === 'text');
      const pid = await agentPid();
      await run.interrupt();
      const { isError, reason } = await run.firstTurn.result;
      assert.deepEqual({ isError, reason }, { isError: true, reason: 'aborted_streaming' });
      assert.deepEqual(await answerTo(run.send('Still there?')), {
        isError: false,
        reason: 'completed',
        text: 'Here I am again.',
      });
      assert.equal(await agentPid(), pid);
      assert.equal((await run.finish()).kind, 'completed');
    },
  },

  allow: {
    about: 'a tool that asks for permission runs once it is allowed, with the input from the answer',
    async play({ start, model, folder }) {
      const asked = { command: 'touch asked', description: 'Makes a file' };
      model.will({ tool: { name: 'Bash', input: asked } }, { text: 'Made.' });
      const run = start({ prompt: 'Make a file.' });
      const { requestId, toolName, input } = await seen(run.firstTurn.events, ({ type }) => type === 'permission');
      assert.deepEqual({ toolName, input }, { toolName: 'Bash', input: asked });
      assert.deepEqual(readdirSync(folder), [], 'the tool ran without permission');
      assert.equal(await run.answer('unknown', { behavior: 'allow' }), false);
      assert.equal(await run.answer(requestId, { behavior: 'allow', input: { ...asked, command: 'touch given' } }), true);
      assert.equal(await run.answer(requestId, { behavior: 'allow' }), false, 'the request was already answered');
      assert.equal((await run.firstTurn.result).isError, false);
      assert.deepEqual(readdirSync(folder), ['given']);
      assert.equal((await run.finish()).kind, 'completed');
    },
  },

  deny: {
    about: 'a denied tool does not run, and the model gets the reason',
    async play({ start, model, folder }) {
      model.will(
        { tool: { name: 'Bash', input: { command: 'touch made', description: 'Makes a file' } } },
        { text: 'As you wish.' },
      );
      const run = start({ prompt: 'Make a file.' });
      const { requestId } = await seen(run.firstTurn.events, ({ type }) => type === 'permission');
      assert.equal(await run.answer(requestId, { behavior: 'deny', message: 'not on a Sunday' }), true);
      assert.equal((await run.firstTurn.result).text, 'As you wish.');
      const { output, isError } = await seen(run.events, ({ type }) => type === 'toolResult');
      assert.deepEqual({ output, isError }, { output: 'not on a Sunday', isError: true });
      assert.match(model.asked.at(-1).conversation.at(-1).text, /not on a Sunday/);
      assert.deepEqual(readdirSync(folder), []);
      assert.equal((await run.finish()).kind, 'completed');
    },
  },

  resume: {
    about: 'a session is resumed by its id: the model gets the whole conversation, and the totals continue',
    async play({ start, model }) {
      model.will({ text: 'I will remember.' }, { text: 'Rosebud.' });
      const first = start({ prompt: 'The word is rosebud.' });
      const { sessionId } = await first.finish();
      const second = start({ prompt: 'What is the word?', resume: sessionId });
      assert.equal((await second.firstTurn.result).text, 'Rosebud.');
      const { kind, usage, sessionId: resumed } = await second.finish();
      assert.deepEqual({ kind, sessionId: resumed }, { kind: 'completed', sessionId });
      const { model: name, conversation } = model.asked.at(-1);
      const expected = ['The word is rosebud.', 'I will remember.', 'What is the word?'];
      assert.deepEqual(
        conversation.map(({ text }) => text).filter((text) => expected.includes(text)),
        expected,
      );
      assert.deepEqual(usage.models, usageOf(2, name));
    },
  },

  deadFail: {
    about: 'a run with a session that does not exist has never started, and reports that',
    async play({ start, model }) {
      model.will({ text: 'I was not asked.' });
      const run = start({ prompt: 'Go on.', resume: randomUUID() });
      assert.equal((await run.firstTurn.result).isError, true);
      const { kind, sessionId, problem } = await run.finish();
      assert.deepEqual({ kind, sessionId }, { kind: 'neverStarted', sessionId: undefined });
      assert.match(problem, /No conversation found/);
      assert.equal(model.asked.length, 0);
    },
  },

  deadFresh: {
    about: 'a session that does not exist is replaced by a new one if that is wanted, and the run reports it',
    async play({ start, model }) {
      model.will({ text: 'Nice to meet you.' });
      const dead = randomUUID();
      const run = start({ prompt: 'Go on.', resume: dead, ifDead: 'startFresh' });
      assert.deepEqual(await answerTo(run.firstTurn), { isError: false, reason: 'completed', text: 'Nice to meet you.' });
      await seen(run.events, ({ type, status }) => type === 'status' && status.includes(dead) && status.includes('a new one'));
      const { kind, sessionId, problem } = await run.finish();
      assert.deepEqual({ kind, problem }, { kind: 'completed', problem: undefined });
      assert.notEqual(sessionId, dead);
      await endsOnce(run);
    },
  },

  apiError: {
    about: 'an error of the model fails the run, with the model’s message; the program would have taken another turn',
    async play({ start, model }) {
      const refusal = { status: 400, type: 'invalid_request_error', message: 'not in the mood' };
      model.always(refusal); // it retries with changed requests
      const run = start({ prompt: 'Say hello.' });
      const { isError, reason, text } = await run.firstTurn.result;
      assert.deepEqual({ isError, reason }, { isError: true, reason: 'api_error' });
      assert.match(text, /400.*not in the mood/);
      const { kind, problem, exit } = await run.finish();
      assert.deepEqual({ kind, code: exit.code }, { kind: 'failed', code: 1 });
      assert.match(problem, /not in the mood/);
    },
  },

  limitOfKey: {
    about: 'a 429 to an API key is an ordinary error: the program reports no limit, and neither does the run',
    async play({ start, model }) {
      model.will(limited(inSeconds(3_600)));
      const run = start({ prompt: 'Say hello.' });
      assert.match((await run.firstTurn.result).text, /429.*too much/);
      const { kind, resetsAt } = await run.finish();
      assert.deepEqual({ kind, resetsAt }, { kind: 'failed', resetsAt: undefined });
    },
  },

  limitOfPlan: {
    about: 'a 429 to a subscription is a rate limit, with its name and its end',
    async play({ start, model, env }) {
      const resetsAt = inSeconds(3_600);
      model.will(limited(resetsAt));
      const run = start({ prompt: 'Say hello.', env: onSubscription(env) });
      assert.equal((await run.firstTurn.result).isError, true);
      const event = await seen(run.events, ({ type }) => type === 'rateLimit');
      assert.deepEqual(
        { state: event.state, limit: event.limit, resetsAt: event.resetsAt },
        { state: 'block', limit: 'five_hour', resetsAt },
      );
      const outcome = await run.finish();
      assert.deepEqual({ kind: outcome.kind, resetsAt: outcome.resetsAt }, { kind: 'rateLimited', resetsAt });
    },
  },

  limitWaitedFor: {
    about: 'a run waits for a rate limit if that is wanted, and resends the prompt',
    async play({ start, model, env }) {
      const resetsAt = inSeconds(4);
      model.will(limited(resetsAt), { text: 'Now I may.' });
      const run = start({ prompt: 'Say hello.', env: onSubscription(env), onRateLimit: 'wait' });
      const { isError, text } = await run.firstTurn.result;
      assert.deepEqual({ isError, text }, { isError: false, text: 'Now I may.' });
      assert.ok(Date.now() >= resetsAt, 'it did not wait');
      const { kind, resetsAt: blockedUntil } = await run.finish();
      assert.deepEqual({ kind, blockedUntil }, { kind: 'completed', blockedUntil: undefined });
      await endsOnce(run);
    },
  },

  idle: {
    about: 'a model that stops in the middle of its answer is given up',
    async play({ start, model, running }) {
      model.will({ text: 'Let me just', ends: 'never' });
      const run = start({ prompt: 'Say hello.', idleTimeoutMs: 2_000 });
      assert.equal((await run.firstTurn.result).isError, true);
      const { kind, watchdog, sessionId } = await run.outcome;
      assert.deepEqual({ kind, watchdog }, { kind: 'idleTimedOut', watchdog: 'idle' });
      assert.notEqual(sessionId, undefined);
      assert.deepEqual(running(), []);
    },
  },

  agentKilled: {
    about: 'an agent that is killed in the middle of a turn has failed, and its tool is terminated',
    async play(stage) {
      const run = await midTool(stage);
      process.kill(await stage.agentPid(), 'SIGKILL');
      assert.deepEqual(await answerTo(run.firstTurn), { isError: true, reason: 'processEnded', text: '' });
      const { kind, exit, sessionId } = await run.outcome;
      assert.deepEqual({ kind, signal: exit.signal }, { kind: 'failed', signal: 'SIGKILL' });
      assert.notEqual(sessionId, undefined);
    },
  },

  serverKilled: {
    about: 'a server that is killed in the middle of a turn leaves a lost run and no processes',
    on: ['websocket', 'stdio'],
    async play(stage) {
      const run = await midTool(stage);
      stage.killServer();
      const { isError } = await run.firstTurn.result;
      const { kind, exit, sessionId } = await run.outcome;
      assert.deepEqual({ isError, kind, exit: exit?.kind ?? 'lost' }, { isError: true, kind: 'lost', exit: 'lost' });
      assert.notEqual(sessionId, undefined);
    },
  },

  hostKilled: {
    about: 'a program that is killed in the middle of an in-process turn leaves a readable file and no processes',
    on: ['inProcess'],
    async play({ model, env, folder, killServer, running, adapterOptions }) {
      model.will({ tool: { name: 'Bash', input: endless } });
      const options = {
        ...adapterOptions,
        cwd: folder,
        env,
        prompt: 'Wait.',
        logDir: path.join(folder, 'runs'),
        args: ['--allowedTools', 'Bash'],
      };
      const child = spawn(process.execPath, [host, JSON.stringify(options)], {
        env: { PATH: env.PATH, E2E_MARK: env.E2E_MARK, E2E_ROLE: 'server' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [logFile] = await once(createInterface(child.stdout), 'line');
      await eventually(() => existsSync(path.join(folder, 'started')));
      assert.notEqual(running().length, 0, 'running processes are not found, so a leak would not be noticed either');
      killServer();
      await once(child, 'close');
      const events = await linesOf(logFile);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1),
      );
      assert.deepEqual(
        events.map(({ type }) => type).filter((type) => type !== 'status'),
        ['turnStarted', 'launching', 'session', 'toolCall'],
      );
    },
  },

  cuts: {
    about: 'a connection that is cut three times, with messages lost, makes no difference to the events of a run',
    on: ['websocket'],
    async play({ start, model, url, connect }) {
      const wire = await openWireProxy(url);
      try {
        const whole = await fourTurns({ start, model });
        await whole.finish();
        const cut = await fourTurns({ start, model, client: await connect(wire.url), trouble: cutThrice(wire, model) });
        await cut.finish();
        assert.equal(wire.connections, 4);
        assert.deepEqual(await transcriptOf(cut.events), fourTurnsTranscript);
        assert.deepEqual(await comparable(cut), await comparable(whole));
      } finally {
        wire.close();
      }
    },
  },
};

/** Long enough to be cut in the middle; sent in separate pieces. */
const story = Array.from({ length: 60 }, (_, index) => `Chapter ${index + 1}: ü. `).join('');

const echo = { command: 'echo out; echo err >&2', description: 'Says something' };

const fourTurnsTranscript = [
  '1 turnStarted One.',
  '1 session',
  `1 text ${greeting}`,
  '1 usage',
  '1 turnEnded ok completed',
  '2 turnStarted Two.',
  `2 text ${story}`,
  '2 usage',
  '2 turnEnded ok completed',
  '3 turnStarted Three.',
  '3 text Let me run it.',
  `3 toolCall Bash ${JSON.stringify(echo)}`,
  '3 toolResult ok out\nerr',
  '3 text It said something.',
  '3 usage',
  '3 turnEnded ok completed',
  '4 turnStarted Four.',
  '4 text Good-bye.',
  '4 usage',
  '4 turnEnded ok completed',
  '4 ended completed',
];

/** `trouble` gets the run right after its start, and is awaited after the last turn. */
async function fourTurns({ start, model, client, trouble }) {
  model.will(
    { text: greeting },
    { text: story, pauseMs: 3 },
    { text: 'Let me run it.', tool: { name: 'Bash', input: echo } },
    { text: 'It said something.' },
    { text: 'Good-bye.' },
  );
  const run = start({ prompt: 'One.', args: ['--allowedTools', 'Bash(echo:*)'], ...(client !== undefined && { client }) });
  const making = trouble?.(run);
  await run.firstTurn.result;
  await run.send('Two.').result;
  await run.send('Three.').result;
  await run.send('Four.').result;
  await making;
  return run;
}

/** In the middle of a text, with some of it lost; while a tool runs; and with the answer to a prompt lost. */
function cutThrice(wire, model) {
  const loseSome = async (hasHappened) => {
    wire.lose();
    await eventually(hasHappened);
    wire.cut();
  };
  return async (run) => {
    await seen(run.events, ({ turn, type, text }) => turn === 2 && type === 'text' && text.includes('9'));
    const before = wire.messages.length;
    await loseSome(() => wire.messages.length > before + 20);
    await seen(run.events, ({ type }) => type === 'toolCall');
    wire.cut();
    await seen(run.events, ({ turn, type }) => turn === 4 && type === 'turnStarted');
    const asked = model.asked.length;
    await loseSome(() => model.asked.length > asked);
  };
}

/** What must be the same in two runs with the same prompts: everything except times, generated ids and prior sessions. */
async function comparable(run) {
  return (await linesOf(run.logFile)).map(
    ({ at: _at, sessionId: _id, callId: _call, priorSessions: _prior, outcome, ...event }) => ({
      ...event,
      ...(outcome !== undefined && { outcome: { kind: outcome.kind, usage: outcome.usage } }),
    }),
  );
}

/** A run whose tool is running. */
async function midTool({ start, model, folder, running }) {
  model.will({ tool: { name: 'Bash', input: endless } });
  const run = start({ prompt: 'Wait.', args: ['--allowedTools', 'Bash'] });
  await eventually(() => existsSync(path.join(folder, 'started')));
  assert.ok(running().length >= 2, 'running processes are not found, so a leak would not be noticed either');
  return run;
}

async function textsOf(run) {
  return (await linesOf(run.logFile)).filter(({ type }) => type === 'text').map(({ text }) => text);
}

/** The only turn of a run is reported as ended once, and not before another attempt. */
async function endsOnce(run) {
  const ends = (await linesOf(run.logFile)).filter(({ type }) => type === 'turnEnded');
  assert.deepEqual(
    ends.map(({ result }) => result.isError),
    [false],
    'ends of the turn',
  );
}

function usageOf(answers, model) {
  return { [model]: Object.fromEntries(Object.entries(usagePerAnswer).map(([kind, count]) => [kind, count * answers])) };
}

/** How the API answers a client whose limit is used up until then. */
function limited(resetsAt) {
  return {
    ...{ status: 429, type: 'rate_limit_error', message: 'that was too much' },
    headers: {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(resetsAt / 1_000),
      'anthropic-ratelimit-unified-representative-claim': 'five_hour',
      'retry-after': String(Math.ceil((resetsAt - Date.now()) / 1_000)),
      'x-should-retry': 'false',
    },
  };
}

/** A whole number of seconds from now, as the API reports it; in milliseconds since the Unix epoch. */
function inSeconds(seconds) {
  return (Math.floor(Date.now() / 1_000) + seconds) * 1_000;
}

/** Limits are reported only to subscribers. */
function onSubscription({ ANTHROPIC_API_KEY: _, ...env }) {
  return { ...env, CLAUDE_CODE_OAUTH_TOKEN: 'mock-token' };
}
