// The lines of one codex process -> events. A turn is made of items: texts, which grow, and tools, which start and end.

import type { AgentReader } from '../agent-adapter.js';
import type { AdapterEvent } from '../agent-event.js';
import type { ModelUsage } from '../usage.js';
import { type CodexTool, codexTool } from './codex-tool.js';
import { readLine } from './json-line.js';
import { type JsonObject, booleanIn, countIn, listIn, objectIn, stringIn } from './json-members.js';

/** How far an item has progressed: `item.started`, `item.updated`, `item.completed`. */
type Stage = 'started' | 'updated' | 'completed';

export class CodexReader implements AgentReader {
  readonly #model: string | undefined;
  /** Texts that are still growing, by item: the part reported so far. */
  readonly #reported = new Map<string, string>();
  /** Tools reported as started, by item. An item that never completes stays here until its process, which has one turn, ends. */
  readonly #running = new Set<string>();
  #answer = '';

  constructor(model: string | undefined) {
    this.#model = model;
  }

  read(line: string, stream: 'stdout' | 'stderr'): AdapterEvent[] {
    return readLine(line, stream, (json) => this.#eventsIn(json));
  }

  #eventsIn(json: JsonObject): AdapterEvent[] | undefined {
    switch (stringIn(json, 'type') ?? '') {
      case 'thread.started':
        return this.#session(json);
      case 'turn.started':
        return [{ type: 'status', status: 'turn started', isTransient: true }];
      case 'item.started':
        return this.#item(objectIn(json, 'item'), 'started');
      case 'item.updated':
        return this.#item(objectIn(json, 'item'), 'updated');
      case 'item.completed':
        return this.#item(objectIn(json, 'item'), 'completed');
      case 'turn.completed':
        return [...this.#usage(json), { type: 'turnEnded', result: { isError: false, reason: 'completed', text: this.#answer } }];
      case 'turn.failed':
        return [{ type: 'turnEnded', result: { isError: true, reason: 'failed', text: messageIn(json['error']) } }];
      case 'error':
        return [problem(messageIn(json))];
      default:
        return undefined;
    }
  }

  #session(json: JsonObject): AdapterEvent[] | undefined {
    const sessionId = stringIn(json, 'thread_id');
    if (sessionId === undefined) return undefined;
    return [{ type: 'session', sessionId, ...(this.#model === undefined ? {} : { model: this.#model }) }];
  }

  /** Totals of the thread. */
  #usage(json: JsonObject): AdapterEvent[] {
    const counts = objectIn(json, 'usage');
    if (counts === undefined) return [];
    return [{ type: 'usage', usage: { models: { [this.#model ?? 'unknown']: usageOf(counts) } } }];
  }

  #item(item: JsonObject | undefined, stage: Stage): AdapterEvent[] | undefined {
    const id = stringIn(item, 'id');
    if (item === undefined || id === undefined) return undefined;
    switch (stringIn(item, 'type') ?? '') {
      case 'agent_message':
        if (stage === 'completed') this.#answer = stringIn(item, 'text') ?? '';
        return this.#text('text', item, { id, stage });
      case 'reasoning':
        return this.#text('thinking', item, { id, stage });
      case 'todo_list':
        return [{ type: 'status', status: todoStatus(item) }];
      case 'error': // a warning: the turn continues
        return [{ type: 'status', status: messageIn(item) }];
      default: {
        const tool = codexTool(item);
        return tool === undefined ? undefined : this.#tool(tool, { id, stage });
      }
    }
  }

  /** Each line carries the item's whole text; only the new part is reported. */
  #text(type: 'text' | 'thinking', item: JsonObject, { id, stage }: { id: string; stage: Stage }): AdapterEvent[] | undefined {
    const text = stringIn(item, 'text');
    if (text === undefined) return undefined;
    const reported = this.#reported.get(id) ?? '';
    if (stage === 'completed') this.#reported.delete(id);
    else this.#reported.set(id, text);
    const added = text.startsWith(reported) ? text.slice(reported.length) : text;
    return added === '' ? [] : [{ type, text: added }];
  }

  /** Some tools appear only once they have completed. */
  #tool({ name, input, output, isError }: CodexTool, { id: callId, stage }: { id: string; stage: Stage }): AdapterEvent[] {
    const events: AdapterEvent[] = this.#running.has(callId) ? [] : [{ type: 'toolCall', callId, name, input }];
    if (stage === 'completed') events.push({ type: 'toolResult', callId, output, isError });
    if (stage === 'completed') this.#running.delete(callId);
    else this.#running.add(callId);
    return events;
  }
}

/** Codex's input count includes tokens read from and written to the cache; here each token counts once. */
function usageOf(counts: JsonObject): ModelUsage {
  const [cacheReadTokens, cacheWriteTokens] = [
    countIn(counts, 'cached_input_tokens'),
    countIn(counts, 'cache_write_input_tokens'),
  ];
  return {
    inputTokens: Math.max(countIn(counts, 'input_tokens') - cacheReadTokens - cacheWriteTokens, 0),
    outputTokens: countIn(counts, 'output_tokens'),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

/**
 * An `error` line does not end the turn: codex also reports each attempt to reconnect this way, and a fatal error is followed by
 * `turn.failed`. Only the message text tells them apart; if it changes, a retry is reported as an ordinary status.
 */
function problem(message: string): AdapterEvent {
  const { attempt, of, why } =
    /^Reconnecting\.\.\. (?<attempt>\d+)\/(?<of>\d+)(?: \((?<why>.*)\))?$/s.exec(message)?.groups ?? {};
  if (attempt === undefined) return { type: 'status', status: message };
  return { type: 'retry', attempt: Number(attempt), maxAttempts: Number(of), problem: why ?? message };
}

function todoStatus(item: JsonObject): string {
  const tasks = listIn(item, 'items') ?? [];
  const open = tasks.filter((task) => booleanIn(task, 'completed') !== true);
  const next = stringIn(open[0], 'text');
  return `${tasks.length - open.length} of ${tasks.length} tasks done${next === undefined ? '' : `, next: ${next}`}`;
}

function messageIn(value: unknown): string {
  return stringIn(value, 'message') ?? 'unknown error';
}
