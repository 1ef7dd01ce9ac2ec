// Any program that reads prompts and reports what it does as lines of JSON. Does not know what the lines mean; the caller's functions do.

import type { AgentAdapter, AgentReader, Launch } from '../agent-adapter.js';
import type { AdapterEvent, TurnResult } from '../agent-event.js';
import { jsonIn, plainLine } from './json-line.js';
import type { JsonObject } from './json-members.js';

export interface JsonLinesOptions {
  /** `jsonl` when absent. */
  readonly name?: string;
  /** The program and its arguments, followed by the caller's; or a function called for each launch, which resuming a session requires. */
  readonly command: readonly string[] | ((launch: Launch) => readonly string[]);
  /** `many` when absent. */
  readonly turnsPerProcess?: 'many' | 'one';
  /** A prompt as a line, without the line feed; `{"prompt": "…"}` when absent. */
  readonly encodePrompt?: (prompt: string) => string;
  /**
   * True for the line after which the program takes the next prompt; or the result of the turn, with the members that differ from
   * `completed` and the text of the turn.
   */
  readonly isTurnEnd: (json: JsonObject) => boolean | Partial<TurnResult>;
  readonly sessionIdOf?: (json: JsonObject) => string | undefined;
  /** The piece of the answer in a line. */
  readonly textOf?: (json: JsonObject) => string | undefined;
  /** Any other events in a line. */
  readonly eventsOf?: (json: JsonObject) => readonly AdapterEvent[];
}

/** The longest text that a turn's result repeats: more than any model writes. The events contain all of it. */
const maxAnswerChars = 16 * 1024 * 1024;

/**
 * A line without text or events that does not end the turn is passed on whole, as `raw`.
 *
 * ```ts
 * const adapter = jsonl({
 *   command: ['my-agent', '--json'],
 *   encodePrompt: (prompt) => JSON.stringify({ op: 'ask', prompt }),
 *   textOf: (json) => (json['op'] === 'say' ? String(json['text']) : undefined),
 *   isTurnEnd: (json) => json['op'] === 'done' && { isError: json['ok'] !== true },
 * });
 * ```
 */
export function jsonl(options: JsonLinesOptions): AgentAdapter {
  const { name = 'jsonl', command, turnsPerProcess = 'many' } = options;
  return {
    name,
    turnsPerProcess,
    command: (launch) => {
      if (typeof command === 'function') return { argv: command(launch) };
      if (launch.resume !== undefined)
        throw new Error(`${name} cannot resume "${launch.resume}": its command must be a function to support resuming`);
      return { argv: [...command, ...launch.args] };
    },
    encodePrompt: options.encodePrompt ?? ((prompt) => JSON.stringify({ prompt })),
    createReader: () => new JsonLinesReader(options),
  };
}

class JsonLinesReader implements AgentReader {
  readonly #options: JsonLinesOptions;
  #sessionId: string | undefined;
  /** Text of the current turn so far. */
  #answer = '';

  constructor(options: JsonLinesOptions) {
    this.#options = options;
  }

  /** If one of the caller's functions throws, the line is passed on as `raw`. */
  read(line: string, stream: 'stdout' | 'stderr'): AdapterEvent[] {
    const json = stream === 'stdout' ? jsonIn(line) : undefined;
    if (json === undefined) return plainLine(line, stream);
    try {
      return this.#eventsIn(json);
    } catch (error) {
      return [
        { type: 'status', status: `could not interpret a line: ${String(error)}` },
        { type: 'raw', stream, line: json },
      ];
    }
  }

  #eventsIn(json: JsonObject): AdapterEvent[] {
    const { isTurnEnd, sessionIdOf, textOf, eventsOf } = this.#options;
    const sessionId = sessionIdOf?.(json);
    const text = textOf?.(json) ?? '';
    const own = eventsOf?.(json) ?? [];
    const end = isTurnEnd(json);
    const events: AdapterEvent[] = [...(text === '' ? [] : [{ type: 'text', text } as const]), ...own];
    for (const event of events) if (event.type === 'text') this.#addToAnswer(event.text);
    if (end !== false) events.push({ type: 'turnEnded', result: this.#resultOf(end) });
    if (events.length === 0) events.push({ type: 'raw', stream: 'stdout', line: json });
    if (sessionId === undefined || sessionId === this.#sessionId) return events;
    this.#sessionId = sessionId;
    return [{ type: 'session', sessionId }, ...events];
  }

  #addToAnswer(text: string): void {
    if (this.#answer.length < maxAnswerChars) this.#answer += text.slice(0, maxAnswerChars - this.#answer.length);
  }

  #resultOf(end: true | Partial<TurnResult>): TurnResult {
    const answer = this.#answer;
    this.#answer = '';
    const { isError = false, reason = isError ? 'failed' : 'completed', text = answer } = end === true ? {} : end;
    return { isError, reason, text };
  }
}
