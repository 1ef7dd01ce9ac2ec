// Chooses the agent program from the command line. A program that speaks JSON lines is described by two members of its lines: the one that
// ends a turn and the one that holds the answer.

import path from 'node:path';
import { type AgentAdapter, type JsonObject, claude, codex, jsonl } from '../../runner/index.js';
import { UsageError } from '../command.js';
import type { AgentFlags } from './options.js';

export interface ProgramPlace {
  /** The arguments after `--`. */
  readonly args: readonly string[];
  readonly isLocal: boolean;
}

/** `rest` holds the arguments for the program. Throws a UsageError when the description is incomplete or malformed. */
export function adapterOf(
  flags: AgentFlags,
  { args, isLocal }: ProgramPlace,
): { readonly adapter: AgentAdapter; readonly rest: readonly string[] } {
  // Locally, a relative path is resolved against the shell's folder, not the agent's.
  const program = isLocal && flags.program?.includes('/') === true ? path.resolve(flags.program) : flags.program;
  const own = program === undefined ? {} : { program };
  switch (flags.adapter) {
    case 'codex':
      return { adapter: codex(own), rest: args };
    case 'jsonl':
      return { adapter: jsonLinesAdapter(flags, args), rest: [] };
    case 'claude':
    case undefined:
      return { adapter: claude(own), rest: args };
  }
}

function jsonLinesAdapter(flags: AgentFlags, command: readonly string[]): AgentAdapter {
  const { 'turn-end': turnEnd = 'type=result', 'text-member': textMember } = flags;
  if (flags['answer-only'] && textMember === undefined)
    throw new UsageError('--answer-only with --adapter jsonl needs --text-member, the member of a line that holds the answer');
  if (command.length === 0) throw new UsageError('--adapter jsonl needs its program after two dashes, as in: -- my-agent --json');
  // The value may contain "=".
  const at = turnEnd.indexOf('=');
  if (at < 1) throw new UsageError(`--turn-end must be NAME=VALUE, as in type=result, got "${turnEnd}"`);
  const [name, value] = [turnEnd.slice(0, at), turnEnd.slice(at + 1)];
  const isEnd = (json: JsonObject) => String(json[name]) === value;
  const answerIn = (json: JsonObject) => {
    const text = textMember === undefined ? undefined : json[textMember];
    return typeof text === 'string' ? text : undefined;
  };
  return jsonl({
    command,
    textOf: (json) => (isEnd(json) ? undefined : answerIn(json)),
    isTurnEnd: (json) => {
      if (!isEnd(json)) return false;
      const text = answerIn(json);
      return text === undefined ? true : { text };
    },
  });
}
