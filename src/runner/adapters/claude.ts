// Claude Code: one process takes prompt after prompt as lines of JSON on stdin. It must be on pipes: on a terminal the program refuses
// prompts from stdin.

import type { AgentAdapter } from '../agent-adapter.js';
import { ClaudeReader } from './claude-reader.js';

export interface ClaudeOptions {
  /** Name or path of the program; `claude` when absent. */
  readonly program?: string;
  /** `on`, also when absent: text comes piece by piece. `off`: block by block. */
  readonly partialMessages?: 'on' | 'off';
  /** `on`, also when absent: tools that need a permission ask for it. `off`: they are denied, or whatever the arguments say. */
  readonly permissionPrompts?: 'on' | 'off';
}

/** With events as in claude 2.1.325. */
export function claude(options: ClaudeOptions = {}): AgentAdapter {
  const { program = 'claude', partialMessages = 'on', permissionPrompts = 'on' } = options;
  const fixedArgs = [
    ...['--print', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
    ...(partialMessages === 'on' ? ['--include-partial-messages'] : []),
    ...(permissionPrompts === 'on' ? ['--permission-prompt-tool', 'stdio'] : []),
  ];
  return {
    name: 'claude',
    turnsPerProcess: 'many',
    // The session in one word with its option: an id that begins with a dash must not become an option of its own.
    command: ({ resume, args }) => ({
      argv: [program, ...fixedArgs, ...(resume === undefined ? [] : [`--resume=${resume}`]), ...args],
      unset: ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT'], // it would take itself for one inside another
    }),
    encodePrompt: (prompt) =>
      JSON.stringify({ type: 'user', message: { role: 'user', content: [{ type: 'text', text: prompt }] } }),
    encodeInterrupt: (requestId) =>
      JSON.stringify({ type: 'control_request', request_id: requestId, request: { subtype: 'interrupt' } }),
    encodePermission: ({ requestId, input }, answer) => {
      // The program wants an input in every case: without one of the caller's, what it asked for.
      const response =
        answer.behavior === 'allow'
          ? { behavior: 'allow', updatedInput: answer.input === undefined ? input : answer.input }
          : { behavior: 'deny', message: answer.message };
      return JSON.stringify({ type: 'control_response', response: { subtype: 'success', request_id: requestId, response } });
    },
    createReader: () => new ClaudeReader(),
  };
}
