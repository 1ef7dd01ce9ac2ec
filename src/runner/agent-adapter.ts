// One agent program: how to start it, how to send it prompts, and what its lines mean. Knows nothing of processes or time.

import type { AdapterEvent } from './agent-event.js';

export interface Launch {
  /** Never empty. */
  readonly prompt: string;
  /** Session to resume. */
  readonly resume: string | undefined;
  /** The caller's arguments. */
  readonly args: readonly string[];
}

export interface LaunchCommand {
  readonly argv: readonly string[];
  /** Overrides the environment of the run. */
  readonly env?: Readonly<Record<string, string>>;
  /** Variables that the program must not see, wherever they come from. */
  readonly unset?: readonly string[];
}

/** Where a program stores the sessions of each working folder, one file per session. */
export interface SessionStore {
  /** The folder that has a subfolder for each working folder, as a shell word that is expanded in the program's environment. */
  readonly base: string;
  /** The variables that `base` uses. */
  readonly variables: readonly string[];
  /** Name of the subfolder of `base` for a working folder; undefined when it cannot be determined. */
  folderFor(cwd: string): string | undefined;
}

export type PermissionAnswer =
  | { readonly behavior: 'allow'; /** Replaces the input that the tool asked for. */ readonly input?: unknown }
  | { readonly behavior: 'deny'; readonly message: string };

export interface AgentAdapter {
  readonly name: string;
  /**
   * `many`: one process takes any number of prompts on stdin. `one`: each prompt gets its own process, which resumes the session of the
   * previous one.
   */
  readonly turnsPerProcess: 'many' | 'one';
  /** How to drive the same program on a terminal, where that differs. */
  readonly onTerminal?: AgentAdapter;
  /** Absent where the sessions of one folder cannot be told apart from those of others. */
  readonly sessions?: SessionStore;
  command(launch: Launch): LaunchCommand;
  /**
   * The line that sends a prompt to a running program; for `one`, the text written to stdin before it is closed. Undefined when the prompt
   * is among the arguments.
   */
  encodePrompt(prompt: string): string | undefined;
  /** The line that interrupts the current turn; absent when only a signal can. */
  encodeInterrupt?(requestId: string): string;
  /** The line that answers a permission request. */
  encodePermission?(request: Extract<AdapterEvent, { type: 'permission' }>, answer: PermissionAnswer): string;
  /** One reader per process. */
  createReader(): AgentReader;
}

/** Interprets one process's lines, in order. Never throws: unknown lines come back as `raw`. */
export interface AgentReader {
  read(line: string, stream: 'stdout' | 'stderr'): AdapterEvent[];
}
