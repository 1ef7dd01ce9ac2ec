// The lines of one claude process -> events. Each kind of line has its own function: undefined means that the line is unknown and is passed
// on whole, an empty list means that it is known and carries no event.

import type { AgentReader } from '../agent-adapter.js';
import type { AdapterEvent } from '../agent-event.js';
import { rateLimitIn, retryIn } from './claude-limits.js';
import { ClaudeResults } from './claude-result.js';
import { readLine } from './json-line.js';
import { type JsonObject, isObject, listIn, numberIn, objectIn, stringIn } from './json-members.js';

/**
 * The message that is being streamed, and how many of its blocks have been streamed so far. The finished `assistant` line repeats each of
 * them once. Without an id, the deltas did not name their message, and belong to the next one that is finished.
 */
interface Streamed {
  readonly messageId: string | undefined;
  block: number | undefined;
  readonly unrepeated: { text: number; thinking: number };
}

export class ClaudeReader implements AgentReader {
  readonly #results = new ClaudeResults();
  #sessionId: string | undefined;
  #streamed = nothingStreamed();

  read(line: string, stream: 'stdout' | 'stderr'): AdapterEvent[] {
    return readLine(line, stream, (json) => this.#eventsIn(json));
  }

  #eventsIn(json: JsonObject): AdapterEvent[] | undefined {
    switch (stringIn(json, 'type') ?? '') {
      case 'system':
        return this.#system(json);
      case 'stream_event':
        return isOfSubagent(json) ? undefined : this.#streamEvent(json);
      case 'assistant':
        return eachBlock(json, (block) => this.#assistantBlock(json, block));
      case 'user':
        return isEcho(json) ? [] : eachBlock(json, (block) => userBlock(json, block));
      case 'control_request':
        return controlRequest(json);
      case 'control_cancel_request':
        return withdrawal(json);
      case 'control_response':
        return controlResponse(json);
      case 'rate_limit_event':
        return rateLimitIn(json);
      case 'result':
        return this.#results.read(json);
      default:
        return undefined;
    }
  }

  #system(json: JsonObject): AdapterEvent[] | undefined {
    switch (stringIn(json, 'subtype') ?? '') {
      case 'init':
        return this.#init(json);
      case 'status': {
        const status = stringIn(json, 'status');
        return status === undefined ? undefined : [{ type: 'status', status, isTransient: true }];
      }
      case 'thinking_tokens':
        return [thinkingStatus(numberIn(json, 'estimated_tokens'))];
      case 'api_retry':
        return retryIn(json);
      default:
        return undefined;
    }
  }

  /** Sent at the start of every turn; the session is reported once. */
  #init(json: JsonObject): AdapterEvent[] | undefined {
    const [sessionId, model] = [stringIn(json, 'session_id'), stringIn(json, 'model')];
    if (sessionId === undefined) return undefined;
    this.#results.model = model;
    if (sessionId === this.#sessionId) return [];
    this.#sessionId = sessionId;
    return [{ type: 'session', sessionId, ...(model === undefined ? {} : { model }) }];
  }

  #streamEvent(json: JsonObject): AdapterEvent[] | undefined {
    const event = objectIn(json, 'event');
    switch (stringIn(event, 'type') ?? '') {
      case 'message_start':
        this.#streamed = nothingStreamed(stringIn(objectIn(event, 'message'), 'id'));
        return [];
      case 'message_stop':
        this.#streamed = nothingStreamed();
        return [];
      case 'content_block_delta':
        return this.#delta(json, event);
      case 'content_block_start':
      case 'content_block_stop':
      case 'message_delta':
      case 'ping':
        return [];
      default:
        return undefined;
    }
  }

  #delta(json: JsonObject, event: JsonObject | undefined): AdapterEvent[] | undefined {
    const delta = objectIn(event, 'delta');
    const kind = stringIn(delta, 'type');
    // The `assistant` line has a tool's complete input; a signature is meant for the model only.
    if (kind === 'input_json_delta' || kind === 'signature_delta') return [];
    const type = kind === 'text_delta' ? 'text' : kind === 'thinking_delta' ? 'thinking' : undefined;
    const text = type === undefined ? undefined : stringIn(delta, type);
    if (type === undefined || text === undefined) return undefined;
    this.#noteStreamed(type, { messageId: stringIn(json, 'api_message_id'), block: numberIn(event, 'index') ?? 0 });
    return piece(type, text);
  }

  #noteStreamed(type: 'text' | 'thinking', from: { readonly messageId: string | undefined; readonly block: number }): void {
    const messageId = from.messageId ?? this.#streamed.messageId;
    if (messageId !== this.#streamed.messageId) this.#streamed = nothingStreamed(messageId);
    if (from.block === this.#streamed.block) return;
    this.#streamed.block = from.block;
    this.#streamed.unrepeated[type] += 1;
  }

  #assistantBlock(json: JsonObject, block: JsonObject): AdapterEvent[] | undefined {
    const type = stringIn(block, 'type');
    if (type === 'tool_use') return toolCall(block);
    // A subagent's text is not part of the answer.
    if ((type !== 'text' && type !== 'thinking') || isOfSubagent(json)) return undefined;
    const text = stringIn(block, type);
    if (text === undefined) return undefined;
    // Text that the program writes in place of the model when a request failed; the result repeats it.
    if (stringIn(json, 'error') !== undefined) return [{ type: 'status', status: text, isTransient: true }];
    const { messageId, unrepeated } = this.#streamed;
    const isRepeated = unrepeated[type] > 0 && (messageId === undefined || messageId === stringIn(json['message'], 'id'));
    if (!isRepeated) return piece(type, text);
    unrepeated[type] -= 1;
    return [];
  }
}

function thinkingStatus(tokens: number | undefined): AdapterEvent {
  return { type: 'status', status: `thinking, about ${tokens ?? 'some'} tokens`, isTransient: true };
}

function nothingStreamed(messageId?: string): Streamed {
  return { messageId, block: undefined, unrepeated: { text: 0, thinking: 0 } };
}

function piece(type: 'text' | 'thinking', text: string): AdapterEvent[] {
  return text === '' ? [] : [{ type, text }];
}

/** A subagent's lines name the tool call that started it. */
function isOfSubagent(json: JsonObject): boolean {
  return stringIn(json, 'parent_tool_use_id') !== undefined;
}

/** Our own prompt, echoed by a terminal: the program's lines name their session, ours do not. */
function isEcho(json: JsonObject): boolean {
  return stringIn(json, 'session_id') === undefined && stringIn(json, 'uuid') === undefined;
}

/** The events of a message's blocks; if a block is unknown, the whole line follows as `raw`. */
function eachBlock(json: JsonObject, read: (block: JsonObject) => AdapterEvent[] | undefined): AdapterEvent[] | undefined {
  const message = objectIn(json, 'message');
  const text = stringIn(message, 'content');
  const blocks = text === undefined ? listIn(message, 'content') : [{ type: 'text', text }];
  if (blocks === undefined || blocks.length === 0) return undefined;
  const parts = blocks.map((block) => (isObject(block) ? read(block) : undefined));
  const knownParts = parts.filter((part) => part !== undefined).flat();
  return parts.includes(undefined) ? [...knownParts, { type: 'raw', stream: 'stdout', line: json }] : knownParts;
}

function toolCall(block: JsonObject): AdapterEvent[] | undefined {
  const [callId, name] = [stringIn(block, 'id'), stringIn(block, 'name')];
  if (callId === undefined || name === undefined) return undefined;
  return [{ type: 'toolCall', callId, name, input: block['input'] }];
}

function userBlock(json: JsonObject, block: JsonObject): AdapterEvent[] | undefined {
  const text = stringIn(block, 'text');
  if (text?.startsWith('[Request interrupted by user')) return [{ type: 'status', status: text }];
  const callId = stringIn(block, 'tool_use_id');
  if (stringIn(block, 'type') !== 'tool_result' || callId === undefined) return undefined;
  const output = outputOf(block['content']) ?? outputApart(objectIn(json, 'tool_use_result'));
  return [{ type: 'toolResult', callId, output, isError: block['is_error'] === true }];
}

/** A string as it is; for a list, the text of each part, or the part's type in brackets if it has no text. */
function outputOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  return content.map((part: unknown) => stringIn(part, 'text') ?? `[${stringIn(part, 'type') ?? 'unknown'}]`).join('\n');
}

function outputApart(result: JsonObject | undefined): string {
  return [stringIn(result, 'stdout'), stringIn(result, 'stderr')].filter((text) => text !== undefined && text !== '').join('\n');
}

function controlRequest(json: JsonObject): AdapterEvent[] | undefined {
  const request = objectIn(json, 'request');
  const [subtype, requestId] = [stringIn(request, 'subtype'), stringIn(json, 'request_id')];
  if (subtype === 'interrupt') return []; // ours, echoed by a terminal: the program never sends one
  const toolName = stringIn(request, 'tool_name');
  if (subtype !== 'can_use_tool' || requestId === undefined || toolName === undefined) return undefined;
  return [{ type: 'permission', requestId, toolName, input: request?.['input'] }];
}

/** Permission requests are the only requests that the program can withdraw. */
function withdrawal(json: JsonObject): AdapterEvent[] | undefined {
  const requestId = stringIn(json, 'request_id');
  return requestId === undefined ? undefined : [{ type: 'permissionWithdrawn', requestId }];
}

function controlResponse(json: JsonObject): AdapterEvent[] | undefined {
  const response = objectIn(json, 'response');
  const subtype = stringIn(response, 'subtype');
  if (stringIn(objectIn(response, 'response'), 'behavior') !== undefined) return []; // ours, echoed: only our answers have a behavior
  if (subtype === undefined) return undefined;
  const error = stringIn(response, 'error');
  if (error === undefined) return [{ type: 'status', status: `control request: ${subtype}`, isTransient: true }];
  return [{ type: 'status', status: `control request: ${subtype}, ${error}` }];
}
