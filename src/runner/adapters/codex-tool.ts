// The items of codex in which it uses a tool: the input and the result.

import { type JsonObject, listIn, numberIn, objectIn, stringIn } from './json-members.js';

export interface CodexTool {
  readonly name: string;
  readonly input: unknown;
  readonly output: string;
  readonly isError: boolean;
}

/** Undefined for items that are not a tool, or not a known one. */
export function codexTool(item: JsonObject): CodexTool | undefined {
  const name = stringIn(item, 'type') ?? '';
  const status = stringIn(item, 'status');
  const isError = status === 'failed' || status === 'declined';
  switch (name) {
    case 'command_execution': {
      const exitCode = numberIn(item, 'exit_code') ?? 0;
      const output = `${stringIn(item, 'aggregated_output') ?? ''}${exitCode === 0 ? '' : `[exit code ${exitCode}]`}`;
      return { name, input: { command: item['command'] }, output, isError: isError || exitCode !== 0 };
    }
    case 'file_change': {
      const changes = listIn(item, 'changes') ?? [];
      const output = changes.map((change) => `${stringIn(change, 'kind') ?? 'change'} ${stringIn(change, 'path') ?? ''}`);
      return { name, input: { changes }, output: output.join('\n'), isError };
    }
    case 'mcp_tool_call': {
      const problem = stringIn(objectIn(item, 'error'), 'message');
      const toolName = `${stringIn(item, 'server') ?? 'mcp'}.${stringIn(item, 'tool') ?? 'unknown'}`;
      const output = problem ?? resultText(objectIn(item, 'result'));
      return { name: toolName, input: item['arguments'], output, isError: isError || problem !== undefined };
    }
    case 'web_search':
      return { name, input: { query: item['query'] }, output: '', isError };
    default:
      return undefined;
  }
}

/** The text of each part of a result, or the part's type in brackets if it has no text. */
function resultText(result: JsonObject | undefined): string {
  const parts = listIn(result, 'content') ?? [];
  return parts.map((part) => stringIn(part, 'text') ?? `[${stringIn(part, 'type') ?? 'unknown'}]`).join('\n');
}
