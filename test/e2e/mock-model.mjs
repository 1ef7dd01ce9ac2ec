// A model that follows a script: an HTTP server on loopback that implements the part of the Responses API that codex needs. A script is an
// async function; each tool call it makes becomes the model's next turn, and resolves with the result.

import { once } from 'node:events';
import http from 'node:http';

/**
 * @typedef {object} ToolResult what codex reports to a model about a command
 * @property {string} output what the command wrote since the model last looked
 * @property {number} [exitCode] present when it has ended
 * @property {number} [session] present while it still runs: identifies it for `write`
 *
 * @typedef {object} Tools what a script can call; concurrent calls are one turn
 * @property {(cmd: string, options?: object) => Promise<ToolResult>} exec starts a command
 * @property {(session: number, chars: string, options?: object) => Promise<ToolResult>} write writes to its stdin; '' only polls
 */

/** Longest a call waits before it reports a command as still running, in milliseconds; a command that ends is reported immediately. */
const yieldMs = 25_000;

/** Room for all that codex keeps of a command's output; without it a model sees about ten thousand tokens. */
const maxOutputTokens = 2_000_000;

/**
 * Starts listening and playing the script. When the script has ended, successfully or not, the model sends its farewell and codex ends.
 *
 * @param {(tools: Tools) => Promise<void>} script
 */
export async function startMockModel(script) {
  const turns = new Turns();
  const server = http.createServer((request, response) => {
    answer(request, response, turns).catch((error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const played = script(toolsOf(turns)).finally(() => turns.end());
  played.catch(() => {}); // `close` rejects with it
  return {
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
    /** The whole conversation, as of each request. */
    asked: turns.asked,

    /** Resolves when the script has ended; rejects with what it threw. Call it once codex has ended: later tool calls fail. */
    async close() {
      turns.abandon();
      server.closeAllConnections();
      server.close();
      await played;
    },
  };
}

/** Connects the script, which makes calls, with the requests, each of which wants the next turn. */
class Turns {
  asked = [];
  #made = 0;
  #isEnded = false;
  #isAbandoned = false;
  #unsent = [];
  #unanswered = new Map();
  #wake = () => {};

  /** @returns {Promise<string>} codex's answer */
  async call(name, args) {
    const id = `call_${(this.#made += 1)}`;
    const item = { type: 'function_call', id: `item_${id}`, call_id: id, name, arguments: JSON.stringify(args) };
    const answered = new Promise((resolve, reject) => this.#unanswered.set(id, { resolve, reject }));
    this.#unsent.push(item);
    if (this.#isAbandoned) this.abandon();
    this.#wake();
    return answered;
  }

  settle(id, text) {
    this.#unanswered.get(id)?.resolve(text);
    this.#unanswered.delete(id);
  }

  /** The model's next output: the calls that the script has made since the last turn, or its farewell. */
  async next() {
    if (this.#unsent.length === 0 && !this.#isEnded) await new Promise((resolve) => (this.#wake = resolve));
    if (this.#unsent.length > 0) return this.#unsent.splice(0);
    return [{ type: 'message', id: 'farewell', role: 'assistant', content: [{ type: 'output_text', text: 'That was all.' }] }];
  }

  end() {
    this.#isEnded = true;
    this.#wake();
  }

  abandon() {
    this.#isAbandoned = true;
    for (const [id, { reject }] of this.#unanswered) reject(new Error(`codex ended without an answer to ${id}`));
    this.#unanswered.clear();
  }
}

/** @returns {Tools} */
function toolsOf(turns) {
  const limits = { yield_time_ms: yieldMs, max_output_tokens: maxOutputTokens };
  return {
    exec: async (cmd, options) => readToolResult(await turns.call('exec_command', { cmd, ...limits, ...options })),
    write: async (session, chars, options) =>
      readToolResult(await turns.call('write_stdin', { session_id: session, chars, ...limits, ...options })),
  };
}

/** Codex writes a few lines about the command, then `Output:` and the output itself. */
function readToolResult(text) {
  const { head, output } = /^(?<head>.*?^)Output:\n(?<output>.*)$/ms.exec(text)?.groups ?? {};
  if (head === undefined) throw new Error(`codex answered "${text}"`);
  const exitCode = /^Process exited with code (-?\d+)$/m.exec(head)?.[1];
  const session = /^Process running with session ID (\d+)$/m.exec(head)?.[1];
  return {
    output,
    ...(exitCode !== undefined && { exitCode: Number(exitCode) }),
    ...(session !== undefined && { session: Number(session) }),
  };
}

/** Each request is one turn: it carries the whole conversation, including the answers to earlier calls. */
async function answer(request, response, turns) {
  if (request.method !== 'POST' || !request.url.endsWith('/responses')) return response.writeHead(404).end();
  const { input } = JSON.parse(Buffer.concat(await request.toArray()).toString());
  turns.asked.push(input);
  for (const item of input) if (item.type === 'function_call_output') turns.settle(item.call_id, callOutputText(item.output));
  const items = await turns.next();
  const id = `response_${input.length}`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
  const events = [
    { type: 'response.created', response: { id } },
    ...items.map((item) => ({ type: 'response.output_item.done', item })),
    { type: 'response.completed', response: { id, usage } },
  ];
  return response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

/** @param {string | { text?: string }[]} output */
function callOutputText(output) {
  return typeof output === 'string' ? output : output.map(({ text }) => text ?? '').join('');
}
