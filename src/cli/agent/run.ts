// `sluice agent run`: starts an agent program, sends it prompts and shows what it does until it ends.

import type { Client } from '../../client/index.js';
import { connectInProcess } from '../../local/index.js';
import { type AgentOptions, type Outcome, startAgent } from '../../runner/index.js';
import { UsageError } from '../command.js';
import { environmentOf } from '../environment-options.js';
import { ownFailure, timedOut } from '../exit-status.js';
import { parseLabels } from '../labels.js';
import { complain } from '../own-output.js';
import { namedServer, openServer } from '../server-options.js';
import { localFolder, remoteFolder } from '../start-folder.js';
import { whyUnwritable } from '../unwritable.js';
import { adapterOf } from './adapter.js';
import { driveRun } from './drive-run.js';
import { type AgentFlags, type Order, logFolder } from './options.js';
import { permissionsFor } from './permissions.js';
import { PromptLines, firstPrompt } from './prompts.js';
import { type OutputMode, runOutput } from './run-output.js';

/** `session` is the one to continue. */
export async function runAgent({
  flags,
  operands: words,
  args,
  session,
}: Order & { readonly session?: string }): Promise<number> {
  refuseContradictions(flags, words);
  const labels = parseLabels(flags.label);
  const server = namedServer(flags, process.env);
  const isLocal = server === undefined;
  const { adapter, rest } = adapterOf(flags, { args, isLocal });
  const mode = outputMode(flags);
  using permissions = permissionsFor(flags.permissions ?? 'deny', adapter);
  using output = runOutput(mode, permissions.kind);
  using lines = flags['prompts-from-stdin'] ? new PromptLines() : undefined;
  const prompt = await firstPrompt({ words, file: flags['prompt-file'], lines });
  await using client: Client = isLocal
    ? connectInProcess({ surroundings: { cwd: localFolder(flags.cwd), env: process.env }, orphans: 'adopt' })
    : await openServer(server, flags);
  const started = startLogged({
    ...{ client, adapter, prompt, args: rest, labels },
    ...environmentOf(flags, { env: process.env, isLocal }),
    cwd: isLocal ? localFolder(flags.cwd) : (flags.cwd ?? (await remoteFolder(client, server)) ?? '/'),
    io: flags.tty ? 'pty' : 'pipe',
    logDir: logFolder(flags),
    onRateLimit: flags['wait-for-limits'] ? 'wait' : 'end',
    ...(session === undefined ? {} : { resume: session }),
    ...timeoutsIn(flags),
  });
  const outcome = await driveRun(started, { output, permissions, lines });
  if (outcome.logProblem !== undefined) await complain(`the log of this run is incomplete: ${outcome.logProblem}`);
  return outcomeStatus(outcome);
}

/** Throws a UsageError for flags that exclude each other. */
function refuseContradictions(flags: AgentFlags, words: readonly string[]): void {
  const { adapter = 'claude', permissions = 'deny' } = flags;
  if (flags.tty && adapter === 'claude' && permissions !== 'deny')
    throw new UsageError(
      'claude never asks for permission on a terminal; leave out -t, or state what it may do, as in: -- --permission-mode acceptEdits',
    );
  if (adapter === 'jsonl' && flags.program !== undefined)
    throw new UsageError('--program is for claude and codex; with --adapter jsonl the program follows two dashes');
  if (permissions === 'ask' && (flags['prompts-from-stdin'] || [words.join(' '), flags['prompt-file']].includes('-')))
    throw new UsageError('--permissions ask reads your answers from stdin, so prompts cannot come from there');
}

function timeoutsIn(flags: AgentFlags): Partial<AgentOptions> {
  return {
    ...(flags['idle-timeout'] === undefined ? {} : { idleTimeoutMs: flags['idle-timeout'] }),
    ...(flags['turn-timeout'] === undefined ? {} : { turnTimeoutMs: flags['turn-timeout'] }),
    ...(flags.timeout === undefined ? {} : { totalTimeoutMs: flags.timeout }),
    ...(flags['exit-patience'] === undefined ? {} : { exitPatienceMs: flags['exit-patience'] }),
  };
}

function outputMode({ json, 'answer-only': answerOnly }: AgentFlags): OutputMode {
  if (json && answerOnly) throw new UsageError('--json prints every event and --answer-only none; use one of them');
  return json ? 'json' : answerOnly ? 'answers' : 'view';
}

/** Does not start a run that cannot be logged. The file system's error does not suggest a fix, so the message names the flag. */
function startLogged(options: AgentOptions): ReturnType<typeof startAgent> {
  try {
    return startAgent(options);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const problem = whyUnwritable(options.logDir ?? '', error);
    throw new Error(`the run cannot be logged (${problem}); name another folder with --log-dir`, { cause: error });
  }
}

/** The exit status for an outcome. */
function outcomeStatus({ kind }: Outcome): number {
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
      return 75; // EX_TEMPFAIL in sysexits.h: try again later
    case 'neverStarted':
    case 'lost':
      return ownFailure;
  }
}
