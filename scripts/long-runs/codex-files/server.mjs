// A server on standard streams, driven call by call.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** @typedef {{ readonly result?: unknown, readonly error?: { readonly code: number, readonly message: string } }} Answer */

/** Every call on these trees is answered in milliseconds. */
const answerMs = 10_000;

export class LineServer {
  #child;
  /** @type {Map<number, (answer: Answer) => void>} */
  #waiting = new Map();
  #calls = 0;

  /** @param {readonly [string, ...string[]]} command @param {NodeJS.ProcessEnv} env */
  constructor([program, ...args], env) {
    this.#child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      /** @type {Answer & { readonly id?: number }} */
      const answer = JSON.parse(line);
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer);
    });
    this.#child.on('exit', (code, signal) => {
      const error = { code: 0, message: `the server ended with ${code ?? signal}` };
      for (const settle of this.#waiting.values()) settle({ error });
    });
  }

  async open() {
    await this.call('initialize', { clientName: 'differential' });
    this.#child.stdin.write(`${JSON.stringify({ method: 'initialized', params: {} })}\n`);
  }

  /** @param {string} method @param {object} params @returns {Promise<Answer>} */
  call(method, params) {
    this.#calls += 1;
    const id = this.#calls;
    this.#child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle({ error: { code: 0, message: `no answer within ${answerMs} ms` } }), answerMs);
      const settle = (/** @type {Answer} */ answer) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(answer);
      };
      this.#waiting.set(id, settle);
    });
  }

  close() {
    this.#child.stdin.end();
    this.#child.kill();
  }
}
