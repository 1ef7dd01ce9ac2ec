// Claude Code. On pipes, one process takes prompt after prompt as lines of JSON on stdin. On a terminal the program refuses that: there the
// prompt is an argument, and each is a process that resumes the session of the one before.

import type { AgentAdapter, Launch, LaunchCommand, SessionStore } from '../agent-adapter.js';
import { ClaudeReader } from './claude-reader.js';

export interface ClaudeOptions {
  /** Name or path of the program; `claude` when absent. */
  readonly program?: string;
  /** `on`, also when absent: text comes piece by piece. `off`: block by block. */
  readonly partialMessages?: 'on' | 'off';
  /**
   * `on`, also when absent: tools that need a permission ask for it. `off`: they are denied, or whatever the arguments say. On a terminal
   * they cannot ask, and it is always `off`.
   */
  readonly permissionPrompts?: 'on' | 'off';
}

/** One file a session, in a folder named after the folder it was in. */
const sessions: SessionStore = {
  base: '${CLAUDE_CONFIG_DIR:-${HOME:?}/.claude}/projects',
  variables: ['CLAUDE_CONFIG_DIR', 'HOME'],
  folderFor: (cwd) => {
    const name = cwd.replaceAll(/[^a-zA-Z0-9]/g, '-');
    return name.length > longestFolderName ? undefined : name;
  },
};

/** Of longer names the program cuts off the end and adds a sum that is its own affair. */
const longestFolderName = 200;

/** With events as in claude 2.1.325. */
export function claude(options: ClaudeOptions = {}): AgentAdapter {
  return {
    name: 'claude',
    turnsPerProcess: 'many',
    onTerminal: onTerminal(options),
    sessions,
    command: (launch) => commandOf(options, launch, 'pipe'),
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

/** Nothing is typed, so the terminal shows nothing but what the program prints. */
function onTerminal(options: ClaudeOptions): AgentAdapter {
  return {
    name: 'claude',
    turnsPerProcess: 'one',
    sessions,
    command: (launch) => {
      const { argv, ...rest } = commandOf(options, launch, 'pty');
      return { argv: [...argv, '--', launch.prompt], ...rest }; // a prompt may begin with a dash
    },
    encodePrompt: () => undefined,
    createReader: () => new ClaudeReader(),
  };
}

function commandOf(options: ClaudeOptions, { resume, args }: Launch, io: 'pipe' | 'pty'): LaunchCommand {
  const { program = 'claude', partialMessages = 'on', permissionPrompts = 'on' } = options;
  return {
    argv: [
      ...[program, '--print', ...(io === 'pipe' ? ['--input-format', 'stream-json'] : [])],
      ...['--output-format', 'stream-json', '--verbose'],
      ...(partialMessages === 'on' ? ['--include-partial-messages'] : []),
      ...(io === 'pipe' && permissionPrompts === 'on' ? ['--permission-prompt-tool', 'stdio'] : []),
      // The session in one word with its option: an id that begins with a dash must not become an option of its own.
      ...(resume === undefined ? [] : [`--resume=${resume}`]),
      ...args,
    ],
    unset: ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT'], // it would take itself for one inside another
  };
}
