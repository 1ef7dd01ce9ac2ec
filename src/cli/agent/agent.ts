// `sluice agent`: runs agent programs and shows past runs. Each action is in its own file.

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
      'Drives an agent program: sends it prompts and shows what it does as it happens. run starts one, resume continues a session, logs ' +
      'shows past runs, usage shows what they used. Arguments after -- go to the program; with --adapter jsonl they are the program.',
    examples: [
      { line: 'sluice agent run "fix the failing test"', meaning: 'claude, in this folder' },
      { line: 'sluice agent run --adapter codex "explain main.ts"', meaning: 'codex' },
      { line: 'sluice agent run --answer-only - < task.md', meaning: 'a long prompt in, only the answer out' },
      { line: 'sluice agent run --connect ws://host:4500 -C /srv/app "upgrade"', meaning: 'on another machine' },
      { line: 'sluice agent resume SESSION "and the docs"', meaning: 'continue a session' },
      { line: 'sluice agent logs', meaning: 'list past runs' },
      { line: 'sluice agent usage --by day', meaning: 'tokens and cost' },
    ],
    options: agentOptions,
    operands: { actions: agentActions },
    notes: [
      'Exit status: 0 completed; 1 failed; 75 rate limited; 124 timed out; 125 when the server was lost, the program never started or ' +
        'Sluice itself failed; 130 interrupted. Ctrl-C interrupts the turn; a second Ctrl-C ends the run.',
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
