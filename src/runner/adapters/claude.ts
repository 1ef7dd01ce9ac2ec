// Claude Code. On pipes, one process takes any number of prompts as lines of JSON on stdin. On a terminal the program refuses that: there
// the prompt is an argument, and each prompt gets its own process, which resumes the session of the previous one.

import type { AgentAdapter, Launch, LaunchCommand, SessionStore } from '../agent-adapter.js';
import { ClaudeReader } from './claude-reader.js';

export interface ClaudeOptions {
  /** Name or path of the program; `claude` when absent. */
  readonly program?: string;
  /** `on` (the default): text arrives in deltas. `off`: in whole blocks. */
  readonly partialMessages?: 'on' | 'off';
  /**
   * `on` (the default): tools that need a permission ask for it. `off`: they are denied, or handled as the arguments say. On a terminal
   * they cannot ask, so it is always `off`.
   */
  readonly permissionPrompts?: 'on' | 'off';
}

/** One file per session, in a folder named after its working folder. */
const sessions: SessionStore = {
  base: '${CLAUDE_CONFIG_DIR:-${HOME:?}/.claude}/projects',
  variables: ['CLAUDE_CONFIG_DIR', 'HOME'],
  folderFor: (cwd) => {
    const name = cwd.replaceAll(/[^a-zA-Z0-9]/g, '-');
    return name.length > longestFolderName ? undefined : name;
  },
};

/** The program truncates longer names and appends a hash that we cannot reproduce. */
const longestFolderName = 200;

/** Understands the events of claude 2.1.325. */
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
      // The program always expects an input: if the caller gave none, send back the one that it asked about.
      const response =
        answer.behavior === 'allow'
          ? { behavior: 'allow', updatedInput: answer.input === undefined ? input : answer.input }
          : { behavior: 'deny', message: answer.message };
      return JSON.stringify({ type: 'control_response', response: { subtype: 'success', request_id: requestId, response } });
    },
    createReader: () => new ClaudeReader(),
  };
}

/** Nothing is typed, so the terminal shows only what the program prints. */
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
      // As one argument, so that an id that begins with a dash is not taken for an option.
      ...(resume === undefined ? [] : [`--resume=${resume}`]),
      ...args,
    ],
    unset: ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT'], // otherwise it would believe it runs inside another claude
  };
}
