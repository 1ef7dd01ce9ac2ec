// `sluice agent`: runs agent programs, and looks at the runs there were. Each action has a file of its own.

import { UsageError, type Word, defineCommand } from '../command.js';
import { printLogs } from './logs.js';
import { type Order, agentActions, agentOptions } from './options.js';
import { resumeSession } from './resume.js';
import { runAgent } from './run.js';
import { printUsage } from './usage.js';

const actions: Readonly<Record<(typeof agentActions)[number], (order: Order) => Promise<number>>> = {
  run: runAgent,
  resume: resumeSession,
  logs: printLogs,
  usage: printUsage,
};

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
    options: agentOptions,
    operands: 'actions',
    notes: [
      'Exit status: 0 completed; 1 failed; 75 when a rate limit is in the way; 124 when time was up; 125 when the server was lost, the program ' +
        'never started or Sluice failed; 130 interrupted. Ctrl-C interrupts the turn, a second one ends the run.',
    ],
  },
  async ({ flags, words }) => {
    const at = words.findIndex(({ kind }) => kind === 'separator');
    const [name = '', ...operands] = operandsIn(at < 0 ? words : words.slice(0, at));
    const action = agentActions.find((known) => known === name);
    if (action === undefined) {
      const known = agentActions.join(', ');
      throw new UsageError(`agent needs one of ${known}, got "${name}"; "sluice agent --help" explains them`);
    }
    return actions[action]({ flags, operands, args: at < 0 ? [] : operandsIn(words.slice(at)) });
  },
);

function operandsIn(words: readonly Word[]): string[] {
  return words.flatMap((word) => (word.kind === 'operand' ? [word.text] : []));
}
