// What a run is told beside its prompt: which program, names for it, and how long the program may take to exit.

import path from 'node:path';
import type { AgentOptions } from '../../runner/index.js';
import { type Flags, UsageError } from '../command.js';
import { parseLabels } from '../labels.js';

export const runOptions = {
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
} as const;

interface Told extends Flags<typeof runOptions> {
  readonly adapter: string | undefined;
  readonly permissions: string | undefined;
  readonly tty: boolean;
}

/** Throws a UsageError for what contradicts itself. */
export function runOptionsOf(flags: Told): Pick<AgentOptions, 'io' | 'labels' | 'exitPatienceMs'> {
  const { adapter = 'claude', permissions = 'deny', 'exit-patience': exitPatienceMs } = flags;
  if (flags.tty && adapter === 'claude' && permissions !== 'deny')
    throw new UsageError(
      'claude asks for no permission on a terminal; leave out -t, or say what it may do, as in: -- --permission-mode acceptEdits',
    );
  if (adapter === 'jsonl' && flags.program !== undefined)
    throw new UsageError('--program is for claude and codex; with --adapter jsonl the program follows two dashes');
  return {
    io: flags.tty ? 'pty' : 'pipe',
    labels: parseLabels(flags.label),
    ...(exitPatienceMs === undefined ? {} : { exitPatienceMs }),
  };
}

/** On this machine, a path is meant from the folder of the shell, wherever the agent works. */
export function programOf(program: string | undefined, { isLocal }: { readonly isLocal: boolean }): string | undefined {
  return isLocal && program?.includes('/') === true ? path.resolve(program) : program;
}
