// Codex: each prompt is a process, and the next one resumes its thread.

import type { AgentAdapter } from '../agent-adapter.js';
import { CodexReader } from './codex-reader.js';

export interface CodexOptions {
  /** Name or path of the program; `codex` when absent. */
  readonly program?: string;
  /** What to ask for, and the name that usage is told under: the program does not name its model. Its own choice when absent. */
  readonly model?: string;
}

/**
 * With events as in codex 0.166. The arguments go before `resume`, where they mean the same as in a new thread; of options that take
 * several values, `--image` for one, write `--image=FILE`, or the next word is taken for a value.
 */
export function codex({ program = 'codex', model }: CodexOptions = {}): AgentAdapter {
  return {
    name: 'codex',
    turnsPerProcess: 'one',
    // The prompt comes on stdin: it may be longer than an argument, begin with a dash or be the name of a command, and other
    // users, who can list processes, must not see it.
    command: ({ resume, args }) => ({
      argv: [
        ...[program, 'exec', '--json', ...(model === undefined ? [] : ['--model', model]), ...args],
        ...(resume === undefined ? ['--', '-'] : ['resume', '--', resume, '-']),
      ],
    }),
    encodePrompt: (prompt) => prompt,
    createReader: () => new CodexReader(model),
  };
}
