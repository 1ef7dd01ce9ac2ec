// A model that answers from a list: an HTTP server on loopback that implements the part of the Messages API that claude needs. It records
// the requests and judges nothing.

import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @typedef {object} Answer
 * @property {string} [thinking]
 * @property {string} [text]
 * @property {{ name: string, input: object }} [tool] called after the text
 * @property {'never'} [ends] present if the answer never ends
 * @property {number} [pauseMs] between two pieces of the text
 * @property {Record<string, string>} [headers]
 *
 * @typedef {object} Refusal
 * @property {number} status HTTP status
 * @property {string} type the API's name of the error
 * @property {string} message
 * @property {Record<string, string>} [headers]
 *
 * @typedef {object} Asked
 * @property {string} model
 * @property {{ role: string, text: string }[]} conversation every text, call and result that was sent, as text
 */

/** The usage that the model reports for each answer. */
export const usagePerAnswer = { inputTokens: 100, outputTokens: 7, cacheReadTokens: 20, cacheWriteTokens: 30 };

/** Longest piece in which a text is sent, in characters. */
const pieceChars = 5;

export async function startMockMessages() {
  const model = new MockMessages();
  await model.open();
  return model;
}

class MockMessages {
  /** @type {Asked[]} */
  asked = [];
  #replies = [];
  #last = { status: 400, type: 'invalid_request_error', message: 'the mock has no answers left' };
  #made = 0;
  #closing = new AbortController();
  #server = http.createServer((request, response) => {
    this.#answer(request, response).catch((error) => response.destroy(error));
  });

  async open() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get baseUrl() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** Adds answers to the next requests, in order. */
  will(/** @type {(Answer | Refusal)[]} */ ...replies) {
    this.#replies.push(...replies);
  }

  /** Sets the answer to use when no others are left. */
  always(/** @type {Answer | Refusal} */ reply) {
    this.#last = reply;
  }

  close() {
    this.#closing.abort();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request, response) {
    const body = Buffer.concat(await request.toArray()).toString();
    const { pathname } = new URL(request.url, this.baseUrl);
    if (request.method !== 'POST' || pathname !== '/v1/messages') return response.writeHead(404).end();
    const { model, messages } = JSON.parse(body);
    this.asked.push({ model, conversation: messages.flatMap(textsIn) });
    const reply = this.#replies.shift() ?? this.#last;
    if (reply.status !== undefined) return refuse(response, reply);
    const { headers = {}, pauseMs = 0, ends } = reply;
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
    for (const event of this.#eventsOf(reply, model)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      if (event.delta?.type === 'text_delta' && pauseMs > 0) await sleep(pauseMs, undefined, { signal: this.#closing.signal });
    }
    return ends === 'never' ? undefined : response.end();
  }

  #eventsOf({ thinking, text, tool, ends }, model) {
    const id = (this.#made += 1);
    const blocks = [
      ...(thinking === undefined ? [] : [thinkingBlock(thinking)]),
      ...(text === undefined ? [] : [textBlock(text)]),
      ...(tool === undefined ? [] : [toolBlock(tool, `toolu_mock${id}`)]),
    ];
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usagePerAnswer;
    const input = {
      input_tokens: inputTokens,
      cache_read_input_tokens: cacheReadTokens,
      cache_creation_input_tokens: cacheWriteTokens,
    };
    const empty = { type: 'message', role: 'assistant', content: [], stop_reason: null, stop_sequence: null };
    const message = { id: `msg_mock${id}`, ...empty, model, usage: { ...input, output_tokens: 1 } };
    const content = blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]);
    const stop = { stop_reason: tool === undefined ? 'end_turn' : 'tool_use', stop_sequence: null };
    return [
      { type: 'message_start', message },
      ...(ends === 'never' ? content.slice(0, -1) : content),
      ...(ends === 'never' ? [] : [{ type: 'message_delta', delta: stop, usage: { output_tokens: outputTokens } }]),
      ...(ends === 'never' ? [] : [{ type: 'message_stop' }]),
    ];
  }
}

function refuse(response, { status, type, message, headers = {} }) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ type: 'error', error: { type, message } }));
}

function thinkingBlock(thinking) {
  return {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...piecesOf(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: 'bW9jaw==' },
    ],
  };
}

function textBlock(text) {
  return { start: { type: 'text', text: '' }, deltas: piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece })) };
}

function toolBlock({ name, input }, id) {
  const pieces = piecesOf(JSON.stringify(input));
  return {
    start: { type: 'tool_use', id, name, input: {} },
    deltas: pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
  };
}

/** The pieces in which a text is sent. */
export function piecesOf(text) {
  const characters = [...text];
  const count = Math.ceil(characters.length / pieceChars);
  return Array.from({ length: count }, (_, index) => characters.slice(index * pieceChars, (index + 1) * pieceChars).join(''));
}

function textsIn({ role, content }) {
  if (typeof content === 'string') return [{ role, text: content }];
  return content.map((block) => ({ role, text: block.text ?? JSON.stringify(block) }));
}
