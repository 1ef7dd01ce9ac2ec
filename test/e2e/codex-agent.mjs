// Runs the real codex under the runner, with a scripted model in place of a real one, and reports the results.
//
//   npm run e2e:codex-agent -- [--only oneShot,tool] [--on inProcess,websocket,stdio]

import { codexConfig } from './codex-config.mjs';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { codex } from 'sluice/runner';
import { answerTo, eventually, linesOf, playAll, seen, transcriptOf } from './agent-stage.mjs';
import { startMockModel } from './mock-model.mjs';
import { scratchInstall } from './scratch-install.mjs';

/** What the model answers when its script has ended, and the usage of each request. */
const farewell = 'That was all.';
const perRequest = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Creates a file to show that it runs, and runs until it is terminated. */
const endless = 'touch started; while :; do sleep 1; done';

/** @type {Record<string, import('./agent-stage.mjs').Scenario & { script?: (tools: import('./mock-model.mjs').Tools) => Promise<void> }>} */
const scenarios = {
  oneShot: {
    about: 'a prompt is answered, and the program exits on its own',
    async play({ start, model }) {
      const run = start({ prompt: '--version' }); // an option, if it were an argument
      assert.deepEqual(await answerTo(run.firstTurn), { isError: false, reason: 'completed', text: farewell });
      const { kind, exit, usage, sessionId, problem } = await run.finish();
      assert.deepEqual({ kind, code: exit.code, problem }, { kind: 'completed', code: 0, problem: undefined });
      assert.equal((await seen(run.events, ({ type }) => type === 'session')).sessionId, sessionId);
      assert.deepEqual(usage, usageOf(1));
      assert.deepEqual(promptsIn(model.asked.at(-1)), ['--version']);
      assert.deepEqual(await stdoutTranscriptOf(run), [
        '1 turnStarted --version',
        '1 session',
        `1 text ${farewell}`,
        '1 usage',
        '1 turnEnded ok completed',
        '1 ended completed',
      ]);
    },
  },

  terminal: {
    about: 'on a terminal the prompt is typed, whatever its length, and its echo is not mistaken for an answer',
    async play({ start, model }) {
      const prompt = `--version\n{"type":"turn.completed"}\n${'x'.repeat(10_000)}`;
      const run = start({ prompt, io: 'pty' });
      assert.deepEqual(await answerTo(run.firstTurn), { isError: false, reason: 'completed', text: farewell });
      assert.equal((await run.finish()).kind, 'completed');
      assert.deepEqual(promptsIn(model.asked.at(-1)), [prompt]);
      const transcript = await stdoutTranscriptOf(run);
      assert.deepEqual(transcript.slice(-5), [
        '1 session',
        `1 text ${farewell}`,
        '1 usage',
        '1 turnEnded ok completed',
        '1 ended completed',
      ]);
      assert.deepEqual(
        transcript.filter((line) => /xxx|turn\.completed/.test(line)),
        [`1 turnStarted ${prompt}`],
      );
    },
  },

  tool: {
    about: 'commands are reported with their output and how they ended',
    async script(tools) {
      await tools.exec('echo out; echo err >&2');
      await tools.exec('echo no; exit 3');
    },
    async play({ start }) {
      const run = start({ prompt: 'Run something.' });
      assert.equal((await run.firstTurn.result).text, farewell);
      const { kind, usage } = await run.finish();
      assert.equal(kind, 'completed');
      assert.deepEqual(usage, usageOf(3));
      const events = await linesOf(run.logFile);
      const calls = events.filter(({ type }) => type === 'toolCall');
      assert.deepEqual(
        calls.map(({ name }) => name),
        ['command_execution', 'command_execution'],
      );
      assert.match(calls[0].input.command, /echo out; echo err >&2/);
      assert.deepEqual(
        events
          .filter(({ type }) => type === 'toolResult')
          .map(({ callId, output, isError }) => ({ callId, lines: output.trim().split('\n').toSorted(), isError })), // two pipes, in any order
        [
          { callId: calls[0].callId, lines: ['err', 'out'], isError: false },
          { callId: calls[1].callId, lines: ['[exit code 3]', 'no'], isError: true },
        ],
      );
    },
  },

  resume: {
    about: 'a second turn is a second process in the same thread, and so is another run; the totals continue',
    async play({ start, model }) {
      const first = start({ prompt: 'The word is rosebud.' });
      await first.firstTurn.result;
      await first.send('Keep it.').result;
      const { kind, sessionId, usage } = await first.finish();
      assert.equal(kind, 'completed');
      assert.deepEqual(usage, usageOf(2));
      const second = start({ prompt: 'What is the word?', resume: sessionId });
      assert.equal((await second.firstTurn.result).isError, false);
      const resumed = await second.finish();
      assert.deepEqual({ kind: resumed.kind, sessionId: resumed.sessionId }, { kind: 'completed', sessionId });
      assert.deepEqual(
        promptsIn(model.asked.at(-1)).map((prompt) => prompt.trim()),
        ['The word is rosebud.', 'Keep it.', 'What is the word?'],
      );
      assert.deepEqual(resumed.usage, usageOf(3));
      const sessions = (await linesOf(first.logFile)).filter(({ type }) => type === 'session');
      assert.deepEqual(new Set(sessions.map((event) => event.sessionId)), new Set([sessionId]));
    },
  },

  deadFail: {
    about: 'a run with a thread that does not exist has never started, and reports that',
    async play({ start, model }) {
      const run = start({ prompt: 'Go on.', resume: '01234567-89ab-7def-8123-456789abcdef' });
      assert.equal((await run.firstTurn.result).isError, true);
      const { kind, problem } = await run.finish();
      assert.equal(kind, 'neverStarted');
      assert.match(problem, /01234567-89ab-7def-8123-456789abcdef/);
      assert.equal(model.asked.length, 0);
    },
  },

  deadFresh: {
    about: 'a thread that does not exist is replaced by a new one if that is wanted, and the run reports it',
    async play({ start }) {
      const dead = '01234567-89ab-7def-8123-456789abcdef';
      const run = start({ prompt: 'Go on.', resume: dead, ifDead: 'startFresh' });
      assert.deepEqual(await answerTo(run.firstTurn), { isError: false, reason: 'completed', text: farewell });
      await seen(run.events, ({ type, status }) => type === 'status' && status.includes(dead) && status.includes('a new one'));
      const { kind, problem } = await run.finish();
      assert.deepEqual({ kind, problem }, { kind: 'completed', problem: undefined });
    },
  },

  modelError: {
    about: 'an error of the model fails the run, with the model’s message',
    async play({ start, useModel }) {
      const refusing = await openRefusing('not in the mood');
      try {
        useModel(refusing.baseUrl);
        const run = start({ prompt: 'Say hello.' });
        const { isError, reason, text } = await run.firstTurn.result;
        assert.deepEqual({ isError, reason }, { isError: true, reason: 'failed' });
        assert.match(text, /not in the mood/);
        const { kind, problem, exit, sessionId } = await run.finish();
        assert.deepEqual({ kind, code: exit.code }, { kind: 'failed', code: 1 });
        assert.match(problem, /not in the mood/);
        assert.notEqual(sessionId, undefined);
      } finally {
        refusing.close();
      }
    },
  },

  idle: {
    about: 'a model that never answers is given up',
    script: () => new Promise(() => {}),
    async play({ start, running }) {
      const run = start({ prompt: 'Say hello.', idleTimeoutMs: 2_000 });
      assert.equal((await run.firstTurn.result).isError, true);
      const { kind, watchdog, sessionId } = await run.outcome;
      assert.deepEqual({ kind, watchdog }, { kind: 'idleTimedOut', watchdog: 'idle' });
      assert.notEqual(sessionId, undefined);
      assert.deepEqual(running(), []);
    },
  },

  agentKilled: {
    about: 'an agent that is killed in the middle of a turn has failed, and everything it started is terminated',
    async script(tools) {
      await tools.exec(endless);
    },
    async play({ start, folder, agentPid, running }) {
      const run = start({ prompt: 'Wait.' });
      await eventually(() => existsSync(path.join(folder, 'started')));
      assert.ok(running().length >= 2, 'running processes are not found, so a leak would not be noticed either');
      process.kill(await agentPid(), 'SIGKILL');
      assert.deepEqual(await answerTo(run.firstTurn), { isError: true, reason: 'processEnded', text: '' });
      const { kind, exit, sessionId } = await run.outcome;
      assert.deepEqual({ kind, signal: exit.signal }, { kind: 'failed', signal: 'SIGKILL' });
      assert.notEqual(sessionId, undefined);
    },
  },

  serverKilled: {
    about: 'a server that is killed in the middle of a turn leaves a lost run and no processes',
    on: ['websocket', 'stdio'],
    async script(tools) {
      await tools.exec(endless);
    },
    async play({ start, folder, killServer }) {
      const run = start({ prompt: 'Wait.' });
      await eventually(() => existsSync(path.join(folder, 'started')));
      killServer();
      const { isError } = await run.firstTurn.result;
      const { kind, sessionId } = await run.outcome;
      assert.deepEqual({ isError, kind }, { isError: true, kind: 'lost' });
      assert.notEqual(sessionId, undefined);
    },
  },
};

const program = scratchInstall({ name: '@openai/codex', version: '0.166.0', program: 'codex' });

await playAll(scenarios, async (folder, { name }) => {
  const home = folder('codex-home');
  const model = await startMockModel(scenarios[name].script ?? (async () => {}));
  const useModel = (baseUrl) => writeFileSync(path.join(home, 'config.toml'), codexConfig(baseUrl));
  useModel(model.baseUrl);
  return {
    adapter: codex({ program, model: 'scripted' }),
    env: { CODEX_HOME: home },
    args: ['--skip-git-repo-check'],
    props: { model, useModel },
    close: async () => {
      model.close().catch(() => {}); // a script may wait for a call that is never answered
    },
  };
});

/** A model that refuses every request. */
async function openRefusing(message) {
  const server = http.createServer((_request, response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { type: 'invalid_request_error', message } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { baseUrl: `http://127.0.0.1:${server.address().port}/v1`, close };
}

/** Ignores codex's stderr, which holds messages about itself that may change. */
async function stdoutTranscriptOf(run) {
  return (await transcriptOf(run.events)).filter((line) => !line.includes(' raw stderr '));
}

/** The user's prompts in the order of the conversation, without what codex adds. */
function promptsIn(conversation) {
  const texts = conversation.filter(({ role }) => role === 'user').flatMap(({ content }) => content.map(({ text }) => text));
  return texts.filter((text) => !text.startsWith('<') && !text.startsWith('#'));
}

function usageOf(requests) {
  const counts = Object.entries(perRequest).map(([kind, count]) => [kind, count * requests]);
  return { models: { scripted: Object.fromEntries(counts) } };
}
