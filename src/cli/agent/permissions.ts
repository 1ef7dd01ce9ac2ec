// What a program is answered when it asks for a permission: always the same, or what the user says at the terminal.

import { type Interface, createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import type { AgentAdapter, AdapterEvent, PermissionAnswer } from '../../runner/index.js';
import { isColoured, paint } from '../colour.js';
import { UsageError } from '../command.js';
import { letGoOfInput, openInput } from '../own-input.js';
import { printError } from '../own-output.js';
import { visible } from '../visible-text.js';
import { jsonOf } from './view.js';

export type PermissionMode = 'allow' | 'deny' | 'ask';

export type PermissionRequest = Extract<AdapterEvent, { type: 'permission' }>;

export interface Permissions extends Disposable {
  /** `fixed`: the answer is known without the user. */
  readonly kind: 'fixed' | 'asked';
  /** Undefined when the request was over, and that promise resolved, before there was an answer. */
  decide(request: PermissionRequest, over: Promise<unknown>): Promise<PermissionAnswer | undefined>;
}

const allowed: PermissionAnswer = { behavior: 'allow' };

/** Throws a UsageError when the user is to be asked and cannot be. */
export function permissionsFor(mode: PermissionMode, adapter: AgentAdapter): Permissions {
  if (mode !== 'ask') {
    const answer: PermissionAnswer = mode === 'allow' ? allowed : { behavior: 'deny', message: 'not allowed here' };
    return { kind: 'fixed', decide: async () => answer, [Symbol.dispose]() {} };
  }
  if (adapter.encodePermission === undefined)
    throw new UsageError(`--permissions ask is not for ${adapter.name}, which never asks`);
  if (!isatty(0) || !isatty(2))
    throw new UsageError('--permissions ask needs a terminal on stdin and stderr to ask on; a script uses allow or deny');
  return new AskedPermissions();
}

/** Longest input that is shown with a question, in characters: a screen or two. What is cut off is said. */
const maxShownChars = 4_000;

/** What came of waiting for an answer: a line, the end of stdin, or the end of the request. */
type Typed = { readonly kind: 'line'; readonly text: string } | { readonly kind: 'end' } | { readonly kind: 'over' };

class AskedPermissions implements Permissions {
  readonly kind = 'asked';
  /** Read from the start, so that what was typed before a question is no answer to it. */
  readonly #lines: Interface = createInterface(openInput());
  #isEnded = false;
  #take: (typed: Typed) => void = () => {};

  constructor() {
    this.#lines.on('line', (text) => this.#take({ kind: 'line', text }));
    this.#lines.on('error', () => this.#lines.close()); // the terminal has gone
    this.#lines.on('close', () => {
      this.#isEnded = true;
      this.#take({ kind: 'end' });
    });
  }

  async decide(request: PermissionRequest, over: Promise<unknown>): Promise<PermissionAnswer | undefined> {
    const requestOver = over.then((): Typed => ({ kind: 'over' }));
    await printError(question(request));
    for (;;) {
      const typed = await Promise.race([this.#nextLine(), requestOver]);
      if (typed.kind !== 'line') await printError('\n');
      if (typed.kind === 'over') return undefined;
      if (typed.kind === 'end') return { behavior: 'deny', message: 'the user is not there to answer' };
      if (/^\s*y(es)?\s*$/i.test(typed.text)) return allowed;
      if (/^\s*no?\s*$/i.test(typed.text)) return { behavior: 'deny', message: 'the user does not allow it' };
      await printError('Please answer y or n: ');
    }
  }

  [Symbol.dispose](): void {
    this.#lines.close();
    letGoOfInput();
  }

  #nextLine(): Promise<Typed> {
    if (this.#isEnded) return Promise.resolve({ kind: 'end' });
    return new Promise((resolve) => {
      this.#take = resolve;
    });
  }
}

/** All of the input, or how much is missing: nothing is allowed unseen. */
function question({ toolName, input }: PermissionRequest): string {
  const json = jsonOf(input);
  const rest = json.length > maxShownChars ? ` … and ${json.length - maxShownChars} more characters` : '';
  const text = visible(`? may it use ${toolName} ${json.slice(0, maxShownChars)}${rest}`);
  return `${isColoured(process.stderr) ? paint('yellow', text) : text}\nAllow it? (y/n) `;
}
