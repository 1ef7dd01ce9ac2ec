// Answers a program's permission requests: always the same way, or as the user decides at the terminal.

import { type Interface, createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import type { AgentAdapter, AdapterEvent, PermissionAnswer } from '../../runner/index.js';
import { isColoured, paint } from '../colour.js';
import { UsageError } from '../command.js';
import { releaseInput, openInput } from '../own-input.js';
import { printError } from '../own-output.js';
import { visible } from '../visible-text.js';
import { jsonOf } from './view.js';

export type PermissionMode = 'allow' | 'deny' | 'ask';

export type PermissionRequest = Extract<AdapterEvent, { type: 'permission' }>;

export interface Permissions extends Disposable {
  /** `fixed`: requests are answered without asking the user. */
  readonly kind: 'fixed' | 'asked';
  /** Resolves to undefined when `over` resolves before the user has answered. */
  decide(request: PermissionRequest, over: Promise<unknown>): Promise<PermissionAnswer | undefined>;
}

const allowed: PermissionAnswer = { behavior: 'allow' };

/** Throws a UsageError when the mode is `ask` and the user cannot be asked. */
export function permissionsFor(mode: PermissionMode, adapter: AgentAdapter): Permissions {
  if (mode !== 'ask') {
    const answer: PermissionAnswer = mode === 'allow' ? allowed : { behavior: 'deny', message: 'not allowed here' };
    return { kind: 'fixed', decide: async () => answer, [Symbol.dispose]() {} };
  }
  if (adapter.encodePermission === undefined)
    throw new UsageError(`--permissions ask does not work with ${adapter.name}, which never asks for permission`);
  if (!isatty(0) || !isatty(2))
    throw new UsageError('--permissions ask needs a terminal on stdin and stderr; use allow or deny in a script');
  return new AskedPermissions();
}

/** Longest tool input shown with a question, in characters: a screen or two. The question says how much was cut off. */
const maxShownChars = 4_000;

/** How waiting for an answer ended: with a line, the end of stdin, or the end of the request. */
type Typed = { readonly kind: 'line'; readonly text: string } | { readonly kind: 'end' } | { readonly kind: 'over' };

class AskedPermissions implements Permissions {
  readonly kind = 'asked';
  /** Reads from the start, so that a line typed before a question does not answer it. */
  readonly #lines: Interface = createInterface(openInput());
  #isEnded = false;
  #take: (typed: Typed) => void = () => {};

  constructor() {
    this.#lines.on('line', (text) => this.#take({ kind: 'line', text }));
    this.#lines.on('error', () => this.#lines.close()); // the terminal is gone
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
      if (typed.kind === 'end') return { behavior: 'deny', message: 'the user is not available to answer' };
      if (/^\s*y(es)?\s*$/i.test(typed.text)) return allowed;
      if (/^\s*no?\s*$/i.test(typed.text)) return { behavior: 'deny', message: 'the user denied it' };
      await printError('Please answer y or n: ');
    }
  }

  [Symbol.dispose](): void {
    this.#lines.close();
    releaseInput();
  }

  #nextLine(): Promise<Typed> {
    if (this.#isEnded) return Promise.resolve({ kind: 'end' });
    return new Promise((resolve) => {
      this.#take = resolve;
    });
  }
}

/** Shows all of the input or says how much is missing, so that the user never unknowingly allows what is not shown. */
function question({ toolName, input }: PermissionRequest): string {
  const json = jsonOf(input);
  const rest = json.length > maxShownChars ? ` … and ${json.length - maxShownChars} more characters` : '';
  const text = visible(`? wants to use ${toolName} ${json.slice(0, maxShownChars)}${rest}`);
  return `${isColoured(process.stderr) ? paint('yellow', text) : text}\nAllow it? (y/n) `;
}
