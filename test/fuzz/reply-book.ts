// What was sent over one connection, what was answered, and whether the two match.

import type { Meaning } from './meaning.js';

interface Asked {
  times: number;
  answers: number;
  /** May be answered with -1 instead, because it was too large to read. */
  isImmense: boolean;
}

/** Notifications that a server may send. */
const notifications = new Set(['process/output', 'process/exited', 'process/closed', 'command/exec/outputDelta']);

export class ReplyBook {
  readonly #asked = new Map<string, Asked>();
  readonly #problems: string[] = [];
  #refusals = 0;
  #leastRefusals = 0;
  #mostRefusals = 0;

  sent(meaning: Meaning): void {
    switch (meaning.kind) {
      case 'request':
        return this.#ask(meaning.id, { isImmense: false });
      case 'immense':
        this.#mostRefusals += 1;
        return this.#ask(meaning.id, { isImmense: true });
      case 'malformed':
        this.#leastRefusals += 1;
        this.#mostRefusals += 1;
        break;
      case 'notification':
      case 'unfinished':
        this.#mostRefusals += 1;
        break;
      case 'silent':
      case 'fatal':
    }
  }

  received(message: unknown): void {
    if (typeof message !== 'object' || message === null) return this.#complain('not a message', message);
    const { id, method, error } = message as Record<string, unknown>;
    if (typeof method === 'string')
      return notifications.has(method) ? undefined : this.#complain('an unknown notification', message);
    if ('result' in message === 'error' in message) return this.#complain('neither result nor error, or both', message);
    if (kindOf(error) === 'internalError') this.#complain('an internal error', message);
    const asked = this.#asked.get(JSON.stringify(id));
    if (id === -1 && (asked === undefined || asked.answers === asked.times)) this.#refusals += 1;
    else if (asked === undefined) this.#complain('an unexpected answer', message);
    else {
      asked.answers += 1;
      if (asked.answers > asked.times) this.#complain('a second answer', message);
    }
  }

  complain(problem: string): void {
    this.#problems.push(problem);
  }

  hasAnswer(id: string): boolean {
    return (this.#asked.get(JSON.stringify(id))?.answers ?? 0) > 0;
  }

  /** Problems that are certain at any time: answers that should not have arrived. */
  get problems(): readonly string[] {
    const extra = this.#refusals - this.#mostRefusals;
    return [...this.#problems, ...(extra > 0 ? [`${extra} refusals too many`] : [])];
  }

  /** Problems that are certain only once there was enough time: missing answers. */
  get unanswered(): readonly string[] {
    const open = [...this.#asked].filter(([, { times, answers }]) => answers < times);
    const plain = open.filter(([, { isImmense }]) => !isImmense).map(([id]) => `no answer to ${id}`);
    const missing = this.#leastRefusals + (open.length - plain.length) - this.#refusals;
    return [...plain, ...(missing > 0 ? [`${missing} refusals missing`] : [])];
  }

  #ask(id: string | number, { isImmense }: Pick<Asked, 'isImmense'>): void {
    const key = JSON.stringify(id);
    const asked = this.#asked.get(key) ?? { times: 0, answers: 0, isImmense: false };
    this.#asked.set(key, { times: asked.times + 1, answers: asked.answers, isImmense: asked.isImmense || isImmense });
  }

  #complain(what: string, message: unknown): void {
    this.#problems.push(`${what}: ${JSON.stringify(message).slice(0, 300)}`);
  }
}

function kindOf(error: unknown): unknown {
  const { data } = (error ?? {}) as { data?: { kind?: unknown } };
  return data?.kind;
}
