// Which agent program to run, as the command line describes it. A program of JSON lines is described by the member that ends a turn and the
// member that holds the answer.

import path from 'node:path';
import { type AgentAdapter, type JsonObject, claude, codex, jsonl } from '../../runner/index.js';
import { UsageError } from '../command.js';
import type { AgentFlags } from './options.js';

export interface ProgramPlace {
  /** What follows two dashes. */
  readonly args: readonly string[];
  readonly isLocal: boolean;
}

/** `rest` is for the program. Throws a UsageError when the description makes no sense. */
export function adapterOf(
  flags: AgentFlags,
  { args, isLocal }: ProgramPlace,
): { readonly adapter: AgentAdapter; readonly rest: readonly string[] } {
  // On this machine, a path is meant from the folder of the shell, wherever the agent works.
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
  // The value may have "=" in it.
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
