// What `sluice agent` can be asked and told to do, and where it keeps the logs of runs.

import { homedir } from 'node:os';
import path from 'node:path';
import type { Flags } from '../command.js';
import { environmentOptions } from '../environment-options.js';
import { serverOptions } from '../server-options.js';
import { defaultFolders } from '../start-folder.js';

export const agentActions = ['run', 'resume', 'logs', 'usage'] as const;

export const agentOptions = {
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
  program: {
    kind: 'text',
    placeholder: 'PATH',
    group: 'run and resume',
    meaning: 'Name or path of the claude or codex to run. Default: the one in PATH.',
  },
  label: {
    kind: 'list',
    placeholder: 'K=V',
    group: 'run and resume',
    meaning: 'Name the run, as in --label story=42: in events, logs and sluice ps. Repeatable.',
  },
  'exit-patience': {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End the program when it takes longer than this to exit after its last turn. Default: 30s; 0 waits for ever.',
  },
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
  'wait-for-limits': { kind: 'switch', group: 'Ending', meaning: 'Wait until a rate limit is lifted and resend the prompt.' },
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

export type AgentFlags = Flags<typeof agentOptions>;

/** What an action gets from the command line. */
export interface Order {
  readonly flags: AgentFlags;
  readonly operands: readonly string[];
  /** What follows two dashes: for the agent program. */
  readonly args: readonly string[];
}

export function logFolder({ 'log-dir': named }: AgentFlags): string {
  const state = () => process.env['XDG_STATE_HOME'] ?? path.join(homedir(), '.local', 'state');
  return path.resolve(named ?? path.join(state(), 'sluice', 'runs'));
}
