// The actions and options of `sluice agent`, and where it keeps the logs of runs.

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
    meaning: 'Which agent program to run. Default: claude.',
  },
  'prompts-from-stdin': {
    kind: 'switch',
    group: 'run and resume',
    meaning:
      'Read prompts from stdin, one per line, each sent when the previous turn has ended. Ends with stdin or with the agent.',
  },
  'prompt-file': {
    kind: 'text',
    placeholder: 'FILE',
    group: 'run and resume',
    meaning: 'Read the first prompt from this local file. A lone dash in place of PROMPT reads it from stdin.',
  },
  cwd: {
    kind: 'text',
    short: 'C',
    placeholder: 'FOLDER',
    group: 'run and resume',
    meaning: `Folder the agent works in, on the machine it runs on. ${defaultFolders}`,
  },
  permissions: {
    kind: 'choice',
    choices: ['allow', 'deny', 'ask'],
    group: 'run and resume',
    meaning: 'How to answer permission requests; ask shows you each one on the terminal. Default: deny.',
  },
  tty: { kind: 'switch', short: 't', group: 'run and resume', meaning: 'Run the program on a 200×50 terminal instead of pipes.' },
  'turn-end': {
    kind: 'text',
    placeholder: 'NAME=VALUE',
    group: 'run and resume',
    meaning: 'With --adapter jsonl: the JSON member that marks the last line of a turn. Default: type=result.',
  },
  'text-member': {
    kind: 'text',
    placeholder: 'NAME',
    group: 'run and resume',
    meaning: 'With --adapter jsonl: the JSON member that holds a piece of the answer or, in the last line of a turn, all of it.',
  },
  program: {
    kind: 'text',
    placeholder: 'PATH',
    group: 'run and resume',
    meaning: 'Name or path of the claude or codex executable. Default: the one in PATH.',
  },
  label: {
    kind: 'list',
    placeholder: 'K=V',
    group: 'run and resume',
    meaning: 'Label the run, as in --label story=42, in events, logs and sluice ps. Repeatable.',
  },
  'exit-patience': {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End the program when it takes longer than this to exit after its last turn. Default: 30s; 0 waits forever.',
  },
  ...environmentOptions,
  'idle-timeout': {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End the run when nothing happens for this long: no output and no work. 0 means never, as for all these times.',
  },
  'turn-timeout': {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End the run when a turn takes longer than this.',
  },
  timeout: {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End the run when all turns together take longer than this.',
  },
  'wait-for-limits': { kind: 'switch', group: 'Ending', meaning: 'Wait until a rate limit is lifted and resend the prompt.' },
  json: { kind: 'switch', group: 'Output', meaning: 'Print events, or figures, as JSON lines.' },
  'answer-only': {
    kind: 'switch',
    group: 'Output',
    meaning: 'With run and resume: print only the answer of each turn. Errors are printed on stderr.',
  },
  follow: {
    kind: 'switch',
    short: 'f',
    group: 'Output',
    meaning: 'With logs: keep printing until the run, or the process that runs it, has ended.',
  },
  by: {
    kind: 'choice',
    choices: ['run', 'day', 'model'],
    group: 'Output',
    meaning: 'With usage: how to group the figures. Default: run.',
  },
  'log-dir': {
    kind: 'text',
    placeholder: 'FOLDER',
    group: 'Output',
    meaning: 'Folder for the logs of runs. Default: sluice/runs in XDG_STATE_HOME or ~/.local/state.',
  },
  ...serverOptions,
} as const;

export type AgentFlags = Flags<typeof agentOptions>;

/** The parsed command line of an action. */
export interface Order {
  readonly flags: AgentFlags;
  readonly operands: readonly string[];
  /** The arguments after `--`, for the agent program. */
  readonly args: readonly string[];
}

export function logFolder({ 'log-dir': named }: AgentFlags): string {
  const state = () => process.env['XDG_STATE_HOME'] ?? path.join(homedir(), '.local', 'state');
  return path.resolve(named ?? path.join(state(), 'sluice', 'runs'));
}
