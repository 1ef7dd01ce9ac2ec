// `sluice agent`: runs agent programs, and looks at the runs there were.

import path from 'node:path';
import type { Client } from '../../client/index.js';
import { connectInProcess } from '../../local/index.js';
import {
  type AgentAdapter,
  type AgentRun,
  type Outcome,
  type RunSummary,
  claude,
  codex,
  jsonl,
  readRun,
  summarizeRuns,
} from '../../runner/index.js';
import { isColoured } from '../colour.js';
import { type Flags, type Input, UsageError, type Word, defineCommand } from '../command.js';
import { environmentOf, environmentOptions } from '../environment-options.js';
import { ownFailure, timedOut } from '../exit-status.js';
import { onSignals } from '../inherited-signals.js';
import { localFolder } from '../local-folder.js';
import { letGoOfInput } from '../own-input.js';
import { complain, print } from '../own-output.js';
import { defaultFolders, remoteFolder } from '../remote-folder.js';
import { namedServer, openServer, serverOptions } from '../server-options.js';
import { jsonLine, visible } from '../visible-text.js';
import { agentActions } from './actions.js';
import { logFolder, startLogged } from './logged-runs.js';
import { sendLines } from './prompts.js';
import { usageTable } from './usage-table.js';
import { RunView } from './view.js';

const options = {
  adapter: {
    kind: 'choice',
    choices: ['claude', 'codex', 'jsonl'],
    group: 'run and resume',
    meaning: 'Which program it is. Default: claude.',
  },
  'prompts-from-stdin': {
    kind: 'switch',
    group: 'run and resume',
    meaning: 'Each line of stdin is a further prompt, put when the turn before has ended.',
  },
  cwd: {
    kind: 'text',
    short: 'C',
    placeholder: 'FOLDER',
    group: 'run and resume',
    meaning: `Where the agent works, on the machine it runs on. ${defaultFolders}`,
  },
  permissions: {
    kind: 'choice',
    choices: ['allow', 'deny'],
    group: 'run and resume',
    meaning: 'What to answer when it asks for permission. Default: deny.',
  },
  tty: { kind: 'switch', short: 't', group: 'run and resume', meaning: 'Run it on a terminal of 200 columns instead of pipes.' },
  'turn-end': {
    kind: 'text',
    placeholder: 'NAME=VALUE',
    group: 'run and resume',
    meaning: 'With --adapter jsonl: the member of a line that ends a turn. Default: type=result.',
  },
  ...environmentOptions,
  'idle-timeout': {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End it when nothing happens for this long: no output and no work.',
  },
  'turn-timeout': {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End it when a turn takes longer than this.',
  },
  timeout: {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End it when all turns together take longer than this.',
  },
  'wait-for-limits': { kind: 'switch', group: 'Ending', meaning: 'Wait until a rate limit is lifted and put the prompt again.' },
  json: { kind: 'switch', group: 'Output', meaning: 'Print events, or figures, as JSON lines.' },
  follow: { kind: 'switch', short: 'f', group: 'Output', meaning: 'With logs: go on until the run has ended.' },
  by: {
    kind: 'choice',
    choices: ['run', 'day', 'model'],
    group: 'Output',
    meaning: 'With usage: what the figures are for. Default: run.',
  },
  'log-dir': {
    kind: 'text',
    placeholder: 'FOLDER',
    group: 'Output',
    meaning: 'Where runs are logged. Default: sluice/runs in XDG_STATE_HOME or ~/.local/state.',
  },
  ...serverOptions,
} as const;

type AgentFlags = Flags<typeof options>;

export const agent = defineCommand(
  {
    name: 'agent',
    usage: 'run|resume|logs|usage [OPTIONS] [SESSION|RUN] [PROMPT] [-- ARG...]',
    about:
      'Drives an agent program: a prompt in, what it does out, as it happens. run starts one, resume goes on with a session, logs shows what ' +
      'a run did, usage what runs have used. What follows two dashes is for the program; for jsonl it is the program.',
    examples: [
      { line: 'sluice agent run "fix the failing test"', meaning: 'claude, in this folder' },
      { line: 'sluice agent run --adapter codex "explain main.ts"', meaning: 'codex' },
      { line: 'sluice agent run --connect ws://host:4500 -C /srv/app "upgrade"', meaning: 'on another machine' },
      { line: 'sluice agent resume SESSION "and the docs"', meaning: 'go on' },
      { line: 'sluice agent logs', meaning: 'the runs there were' },
      { line: 'sluice agent usage --by day', meaning: 'tokens and cost' },
    ],
    options,
    operands: 'actions',
    notes: [
      'Exit status: 0 completed; 1 failed; 75 when a rate limit is in the way; 124 when time was up; 125 when the server was lost, the program ' +
        'never started or Sluice failed; 130 interrupted. Ctrl-C interrupts the turn, a second one ends the run.',
    ],
  },
  async (input) => {
    const { own, rest } = splitAtDashes(input.words);
    const [action, ...operands] = own;
    if (action === 'run') return run(input, { prompt: operands.join(' '), args: rest });
    if (action === 'resume') return resume(input, operands, rest);
    if (action === 'logs') return logs(input.flags, operands);
    if (action === 'usage') return usage(input.flags);
    const known = agentActions.join(', ');
    throw new UsageError(`agent needs one of ${known}, got "${action ?? ''}"; "sluice agent --help" explains them`);
  },
);

interface Order {
  readonly prompt: string;
  readonly args: readonly string[];
  readonly resume?: string;
}

async function run({ flags }: Input<typeof options>, { prompt, args, resume: session }: Order): Promise<number> {
  if (prompt.trim() === '') throw new UsageError('agent needs a prompt, as in: sluice agent run "fix the failing test"');
  const server = namedServer(flags, process.env);
  const isLocal = server === undefined;
  await using client: Client = isLocal
    ? connectInProcess({ surroundings: { cwd: localFolder(flags.cwd), env: process.env }, orphans: 'adopt' })
    : await openServer(server, flags);
  const cwd = isLocal ? localFolder(flags.cwd) : (flags.cwd ?? (await remoteFolder(client, server)) ?? '/');
  const { adapter, rest } = adapterOf(flags, args);
  const started = startLogged({
    client,
    adapter,
    prompt,
    args: rest,
    ...environmentOf(flags, { env: process.env, isLocal }),
    cwd,
    io: flags.tty ? 'pty' : 'pipe',
    logDir: logFolder(flags),
    onRateLimit: flags['wait-for-limits'] ? 'wait' : 'end',
    ...(session === undefined ? {} : { resume: session }),
    ...(flags['idle-timeout'] === undefined ? {} : { idleTimeoutMs: flags['idle-timeout'] }),
    ...(flags['turn-timeout'] === undefined ? {} : { turnTimeoutMs: flags['turn-timeout'] }),
    ...(flags.timeout === undefined ? {} : { totalTimeoutMs: flags.timeout }),
  });
  using _signals = interruptOnSignals(started);
  try {
    const [outcome] = await Promise.all([outcomeOf(started, flags), show(started, flags)]);
    if (outcome.logProblem !== undefined) await complain(`the log of this run is incomplete: ${outcome.logProblem}`);
    return statusOf(outcome);
  } catch (error) {
    await started.stop(); // an agent whose doings or prompts are lost does not go on
    throw error;
  } finally {
    if (flags['prompts-from-stdin']) letGoOfInput();
  }
}

async function outcomeOf(started: AgentRun, flags: AgentFlags): Promise<Outcome> {
  if (flags['prompts-from-stdin']) await sendLines(started);
  return Promise.race([started.finish(), started.outcome]);
}

async function resume(
  input: Input<typeof options>,
  [name, ...words]: readonly string[],
  args: readonly string[],
): Promise<number> {
  if (name === undefined)
    throw new UsageError('agent resume needs a session or a run, as in: sluice agent resume SESSION "go on"');
  const earlier = (await summarizeRuns(logFolder(input.flags))).findLast(
    ({ sessionId, runId }) => sessionId === name || runId === name,
  );
  const session = earlier?.sessionId ?? name;
  const adapter = input.flags.adapter ?? knownAdapter(earlier);
  const flags = { ...input.flags, adapter, cwd: input.flags.cwd ?? earlier?.cwd };
  return run({ ...input, flags }, { prompt: words.join(' '), args, resume: session });
}

async function logs(flags: AgentFlags, [name]: readonly string[]): Promise<number> {
  const folder = logFolder(flags);
  const runs = await summarizeRuns(folder);
  if (name === undefined) {
    for (const each of runs) await print(flags.json ? jsonLine(each) : `${runLine(each)}\n`);
    return 0;
  }
  const found = runs.findLast(({ runId, sessionId }) => runId.startsWith(name) || sessionId === name);
  if (found === undefined) throw new UsageError(`there is no run "${name}"; "sluice agent logs" lists them`);
  const view = new RunView({ isColoured: isColoured(process.stdout) });
  for await (const line of readRun(path.join(folder, `${found.runId}.jsonl`), { follow: flags.follow })) {
    if (flags.json) await print(jsonLine(line));
    else if (line.type !== 'run') await print(view.show(line));
  }
  return 0;
}

async function usage(flags: AgentFlags): Promise<number> {
  const runs = await summarizeRuns(logFolder(flags));
  await print(flags.json ? runs.map(jsonLine).join('') : usageTable(runs, flags.by ?? 'run'));
  return 0;
}

async function show(started: AgentRun, { json, permissions }: AgentFlags): Promise<void> {
  const view = new RunView({ isColoured: isColoured(process.stdout) });
  for await (const event of started.events) {
    await print(json ? jsonLine(event) : view.show(event));
    if (event.type !== 'permission') continue;
    const answer =
      permissions === 'allow' ? ({ behavior: 'allow' } as const) : ({ behavior: 'deny', message: 'not allowed here' } as const);
    await started.answer(event.requestId, answer);
  }
}

function interruptOnSignals(started: AgentRun): Disposable {
  let isAsked = false;
  const interrupt = () => {
    void (isAsked ? started.stop() : started.interrupt());
    isAsked = true;
  };
  const stop = () => void started.stop();
  return onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => (signal === 'SIGINT' ? interrupt() : stop()));
}

function adapterOf(flags: AgentFlags, args: readonly string[]): { adapter: AgentAdapter; rest: readonly string[] } {
  switch (flags.adapter) {
    case 'codex':
      return { adapter: codex(), rest: args };
    case 'jsonl': {
      const [program] = args;
      if (program === undefined)
        throw new UsageError('--adapter jsonl needs its program after two dashes, as in: -- my-agent --json');
      const [name = 'type', value = ''] = (flags['turn-end'] ?? 'type=result').split('=');
      return { adapter: jsonl({ command: args, isTurnEnd: (json) => String(json[name]) === value }), rest: [] };
    }
    case 'claude':
    case undefined:
      return { adapter: claude(), rest: args };
  }
}

function knownAdapter(earlier: RunSummary | undefined): AgentFlags['adapter'] {
  return options.adapter.choices.find((choice) => choice === earlier?.adapter);
}

function splitAtDashes(words: readonly Word[]): { own: string[]; rest: string[] } {
  const at = words.findIndex(({ kind }) => kind === 'separator');
  const texts = (part: readonly Word[]) => part.flatMap((word) => (word.kind === 'operand' ? [word.text] : []));
  return at < 0 ? { own: texts(words), rest: [] } : { own: texts(words.slice(0, at)), rest: texts(words.slice(at)) };
}

function runLine({ runId, adapter, outcome, sessionId = '-' }: RunSummary): string {
  return visible(`${runId}  ${adapter.padEnd(6)}  ${(outcome ?? 'no end yet').padEnd(12)}  ${sessionId}`);
}

function statusOf({ kind }: Outcome): number {
  switch (kind) {
    case 'completed':
      return 0;
    case 'failed':
      return 1;
    case 'interrupted':
      return 130;
    case 'idleTimedOut':
    case 'timedOut':
      return timedOut;
    case 'rateLimited':
      return 75; // as sysexits.h has it: try again later
    case 'neverStarted':
    case 'lost':
      return ownFailure;
  }
}
