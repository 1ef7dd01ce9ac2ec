// `sluice agent`: runs agent programs, and looks at the runs there were.

import path from 'node:path';
import type { Client } from '../../client/index.js';
import { connectInProcess } from '../../local/index.js';
import { type AgentAdapter, type RunSummary, claude, codex, readRun, summarizeRuns } from '../../runner/index.js';
import { isColoured } from '../colour.js';
import { type Flags, type Input, UsageError, type Word, defineCommand } from '../command.js';
import { environmentOf, environmentOptions } from '../environment-options.js';
import { ownFailure } from '../exit-status.js';
import { complain, print } from '../own-output.js';
import { defaultFolders, localFolder, remoteFolder } from '../start-folder.js';
import { namedServer, openServer, serverOptions } from '../server-options.js';
import { jsonLine, visible } from '../visible-text.js';
import { agentActions } from './actions.js';
import { driveRun } from './drive-run.js';
import { findRun } from './find-run.js';
import { jsonLinesAdapter } from './json-lines.js';
import { logFolder, startLogged } from './logged-runs.js';
import { outcomeStatus } from './outcome-status.js';
import { permissionsFor } from './permissions.js';
import { PromptLines, firstPrompt } from './prompts.js';
import { type OutputMode, runOutput } from './run-output.js';
import { programOf, runOptions, runOptionsOf } from './run-options.js';
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
    meaning: 'Each line of stdin is a prompt, sent when the turn before has ended. Ends with stdin or with the agent.',
  },
  'prompt-file': {
    kind: 'text',
    placeholder: 'FILE',
    group: 'run and resume',
    meaning: 'Read the first prompt from this file of this machine. A lone dash in place of PROMPT reads it from stdin.',
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
    choices: ['allow', 'deny', 'ask'],
    group: 'run and resume',
    meaning: 'What to answer when it asks for permission; ask puts each question to you, on the terminal. Default: deny.',
  },
  tty: { kind: 'switch', short: 't', group: 'run and resume', meaning: 'Run it on a terminal of 200×50 instead of pipes.' },
  'turn-end': {
    kind: 'text',
    placeholder: 'NAME=VALUE',
    group: 'run and resume',
    meaning: 'With --adapter jsonl: the member of a line that ends a turn. Default: type=result.',
  },
  'text-member': {
    kind: 'text',
    placeholder: 'NAME',
    group: 'run and resume',
    meaning:
      'With --adapter jsonl: the member of a line that holds a piece of the answer; in the line that ends a turn, all of it.',
  },
  ...runOptions,
  ...environmentOptions,
  'idle-timeout': {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End it when nothing happens for this long: no output and no work. 0: never, as for all these times.',
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
  'answer-only': {
    kind: 'switch',
    group: 'Output',
    meaning: 'With run and resume: print the answer of each turn and nothing else. What goes wrong is told on stderr.',
  },
  follow: {
    kind: 'switch',
    short: 'f',
    group: 'Output',
    meaning: 'With logs: go on until the run has ended, or the program that ran it.',
  },
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
      { line: 'sluice agent run --answer-only - < task.md', meaning: 'a prompt of many lines in, the answer out' },
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
    if (action === 'run') return run(input, { words: operands, args: rest });
    if (action === 'resume') return resume(input, operands, rest);
    if (action === 'logs') return logs(input.flags, operands);
    if (action === 'usage') return usage(input.flags);
    const known = agentActions.join(', ');
    throw new UsageError(`agent needs one of ${known}, got "${action ?? ''}"; "sluice agent --help" explains them`);
  },
);

interface Order {
  readonly words: readonly string[];
  readonly args: readonly string[];
  readonly resume?: string;
}

async function run({ flags }: Input<typeof options>, { words, args, resume: session }: Order): Promise<number> {
  const told = runOptionsOf(flags);
  const server = namedServer(flags, process.env);
  const isLocal = server === undefined;
  const { adapter, rest } = adapterOf({ ...flags, program: programOf(flags.program, { isLocal }) }, args);
  if (flags.permissions === 'ask' && (flags['prompts-from-stdin'] || [words.join(' '), flags['prompt-file']].includes('-')))
    throw new UsageError('--permissions ask reads your answers from stdin, so prompts cannot come from there');
  const mode = outputMode(flags);
  using permissions = permissionsFor(flags.permissions ?? 'deny', adapter);
  using output = runOutput(mode, permissions.kind);
  using lines = flags['prompts-from-stdin'] ? new PromptLines() : undefined;
  const prompt = await firstPrompt({ words, file: flags['prompt-file'], lines });
  await using client: Client = isLocal
    ? connectInProcess({ surroundings: { cwd: localFolder(flags.cwd), env: process.env }, orphans: 'adopt' })
    : await openServer(server, flags);
  const cwd = isLocal ? localFolder(flags.cwd) : (flags.cwd ?? (await remoteFolder(client, server)) ?? '/');
  const started = startLogged({
    client,
    adapter,
    prompt,
    args: rest,
    ...environmentOf(flags, { env: process.env, isLocal }),
    cwd,
    ...told,
    logDir: logFolder(flags),
    onRateLimit: flags['wait-for-limits'] ? 'wait' : 'end',
    ...(session === undefined ? {} : { resume: session }),
    ...(flags['idle-timeout'] === undefined ? {} : { idleTimeoutMs: flags['idle-timeout'] }),
    ...(flags['turn-timeout'] === undefined ? {} : { turnTimeoutMs: flags['turn-timeout'] }),
    ...(flags.timeout === undefined ? {} : { totalTimeoutMs: flags.timeout }),
  });
  const outcome = await driveRun(started, { output, permissions, lines });
  if (outcome.logProblem !== undefined) await complain(`the log of this run is incomplete: ${outcome.logProblem}`);
  return outcomeStatus(outcome);
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
  return run({ ...input, flags }, { words, args, resume: session });
}

async function logs(flags: AgentFlags, [name]: readonly string[]): Promise<number> {
  const folder = logFolder(flags);
  const runs = await summarizeRuns(folder);
  if (name === undefined) {
    for (const each of runs) await print(flags.json ? jsonLine(each) : `${runLine(each)}\n`);
    return 0;
  }
  const found = findRun(runs, name);
  const view = new RunView({ isColoured: isColoured(process.stdout) });
  let isEnded = false;
  for await (const line of readRun(path.join(folder, `${found.runId}.jsonl`), { follow: flags.follow })) {
    if (flags.json) await print(jsonLine(line));
    else if (line.type !== 'run') await print(view.show(line));
    isEnded = line.type === 'ended';
  }
  if (!flags.json) await print(view.endLine());
  if (isEnded || !(flags.follow || found.hasCrashed)) return 0;
  await complain(`run ${found.runId} has no end: the program that ran it is gone`);
  return flags.follow ? ownFailure : 0;
}

async function usage(flags: AgentFlags): Promise<number> {
  const runs = await summarizeRuns(logFolder(flags));
  await print(flags.json ? runs.map(jsonLine).join('') : usageTable(runs, flags.by ?? 'run'));
  return 0;
}

function outputMode({ json, 'answer-only': answerOnly }: AgentFlags): OutputMode {
  if (json && answerOnly) throw new UsageError('--json prints every event and --answer-only none; use one of them');
  return json ? 'json' : answerOnly ? 'answers' : 'view';
}

function adapterOf(flags: AgentFlags, args: readonly string[]): { adapter: AgentAdapter; rest: readonly string[] } {
  const own = flags.program === undefined ? {} : { program: flags.program };
  switch (flags.adapter) {
    case 'codex':
      return { adapter: codex(own), rest: args };
    case 'jsonl':
      if (flags['answer-only'] && flags['text-member'] === undefined)
        throw new UsageError(
          '--answer-only with --adapter jsonl needs --text-member, the member of a line that holds the answer',
        );
      return {
        adapter: jsonLinesAdapter({ command: args, turnEnd: flags['turn-end'], textMember: flags['text-member'] }),
        rest: [],
      };
    case 'claude':
    case undefined:
      return { adapter: claude(own), rest: args };
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

function runLine({ runId, adapter, outcome, hasCrashed, sessionId = '-', labels }: RunSummary): string {
  const state = outcome ?? (hasCrashed ? 'crashed' : 'no end yet');
  const names = Object.entries(labels).map(([name, value]) => `  ${name}=${value}`);
  return visible(`${runId}  ${adapter.padEnd(6)}  ${state.padEnd(12)}  ${sessionId}${names.join('')}`);
}
