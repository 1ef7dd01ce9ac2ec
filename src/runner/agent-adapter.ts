// One agent program: how it is started, how prompts are put to it, and what its lines mean. Knows nothing of processes or time.

import type { AdapterEvent } from './agent-event.js';

/** What is to be started. */
export interface Launch {
  /** Never empty. */
  readonly prompt: string;
  /** Session to go on with. */
  readonly resume: string | undefined;
  /** The caller's own arguments. */
  readonly args: readonly string[];
}

export interface LaunchCommand {
  readonly argv: readonly string[];
  /** Laid over the environment of the run. */
  readonly env?: Readonly<Record<string, string>>;
  /** Variables the program must not see, whatever the run's environment has. */
  readonly unset?: readonly string[];
}

/** Where a program keeps the sessions it has had in a folder, one file each. */
export interface SessionStore {
  /** The folder that holds a folder for each working folder, in words that a shell expands in the program's environment. */
  readonly base: string;
  /** The variables that `base` names. */
  readonly variables: readonly string[];
  /** Name of the folder in `base` for a working folder; undefined where it cannot be told. */
  folderFor(cwd: string): string | undefined;
}

export type PermissionAnswer =
  | { readonly behavior: 'allow'; /** What the tool gets instead of what it asked for. */ readonly input?: unknown }
  | { readonly behavior: 'deny'; readonly message: string };

export interface AgentAdapter {
  readonly name: string;
  /** `many`: one process takes prompt after prompt on stdin. `one`: each prompt is a process, resumed from the one before. */
  readonly turnsPerProcess: 'many' | 'one';
  /** The same program on a terminal, where that takes another way to drive it. */
  readonly onTerminal?: AgentAdapter;
  /** Absent where the sessions of a folder cannot be told from others. */
  readonly sessions?: SessionStore;
  command(launch: Launch): LaunchCommand;
  /**
   * The line that puts a prompt to a running program; for `one`, what is written to stdin before it is closed. Undefined where the prompt
   * is among the arguments.
   */
  encodePrompt(prompt: string): string | undefined;
  /** The line that interrupts the turn under way; absent where only a signal does. */
  encodeInterrupt?(requestId: string): string;
  /** The line that answers a permission request. */
  encodePermission?(request: Extract<AdapterEvent, { type: 'permission' }>, answer: PermissionAnswer): string;
  /** For one process. */
  createReader(): AgentReader;
}

/** Makes sense of one process's lines, in their order. Never throws: what it does not know comes back as `raw`. */
export interface AgentReader {
  read(line: string, stream: 'stdout' | 'stderr'): AdapterEvent[];
}
