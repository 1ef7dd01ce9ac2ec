// One agent program: how it is started, how prompts are put to it, and what its lines mean. Knows nothing of processes or time.

import type { AgentSaid } from './agent-event.js';

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

export type PermissionAnswer =
  | { readonly behavior: 'allow'; /** What the tool gets instead of what it asked for. */ readonly input?: unknown }
  | { readonly behavior: 'deny'; readonly message: string };

export interface AgentAdapter {
  readonly name: string;
  /** `many`: one process takes prompt after prompt on stdin. `one`: each prompt is a process, resumed from the one before. */
  readonly turnsPerProcess: 'many' | 'one';
  command(launch: Launch): LaunchCommand;
  /** The line that puts a prompt to a running program; for `one`, what is written to stdin before it is closed, if anything. */
  encodePrompt(prompt: string): string | undefined;
  /** The line that interrupts the turn under way; absent where only a signal does. */
  encodeInterrupt?(requestId: string): string;
  /** The line that answers a permission request. */
  encodePermission?(request: Extract<AgentSaid, { type: 'permission' }>, answer: PermissionAnswer): string;
  /** For one process. */
  createReader(): AgentReader;
}

/** Makes sense of one process's lines, in their order. Never throws: what it does not know comes back as `raw`. */
export interface AgentReader {
  read(line: string, stream: 'stdout' | 'stderr'): AgentSaid[];
}
