// Codex: each prompt is its own process, and the next one resumes its thread.

import type { AgentAdapter } from '../agent-adapter.js';
import { CodexReader } from './codex-reader.js';

export interface CodexOptions {
  /** Name or path of the program; `codex` when absent. */
  readonly program?: string;
  /**
   * The model to request, and the name to report usage under, because the program does not name its model. The program's own choice when
   * absent.
   */
  readonly model?: string;
}

/**
 * Understands the events of codex 0.166. The arguments go before `resume`, where they mean the same as in a new thread. Write options that
 * take several values as one word, for example `--image=FILE`; otherwise the next word is taken for a value.
 */
export function codex({ program = 'codex', model }: CodexOptions = {}): AgentAdapter {
  return {
    name: 'codex',
    turnsPerProcess: 'one',
    // The prompt is sent on stdin: it may be too long for an argument, begin with a dash or equal the name of a command, and other users,
    // who can list processes, must not see it.
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
