// A program of JSON lines, as the command line describes it: which member ends a turn, and which holds the answer.

import { type AgentAdapter, type JsonObject, jsonl } from '../../runner/index.js';
import { UsageError } from '../command.js';

export interface JsonLinesDescription {
  readonly command: readonly string[];
  /** `NAME=VALUE`; the value may have "=" in it. */
  readonly turnEnd: string | undefined;
  readonly textMember: string | undefined;
}

/** Throws a UsageError when the description makes no sense. */
export function jsonLinesAdapter({ command, turnEnd = 'type=result', textMember }: JsonLinesDescription): AgentAdapter {
  if (command.length === 0) throw new UsageError('--adapter jsonl needs its program after two dashes, as in: -- my-agent --json');
  const at = turnEnd.indexOf('=');
  if (at < 1) throw new UsageError(`--turn-end must be NAME=VALUE, as in type=result, got "${turnEnd}"`);
  const [name, value] = [turnEnd.slice(0, at), turnEnd.slice(at + 1)];
  const isEnd = (json: JsonObject) => String(json[name]) === value;
  const textOf = (json: JsonObject) => {
    const text = textMember === undefined ? undefined : json[textMember];
    return typeof text === 'string' ? text : undefined;
  };
  return jsonl({
    command,
    textOf: (json) => (isEnd(json) ? undefined : textOf(json)),
    isTurnEnd: (json) => {
      if (!isEnd(json)) return false;
      const text = textOf(json);
      return text === undefined ? true : { text };
    },
  });
}
