// The calls of one connection that act on the server's machine: files, ports, HTTP, discovery. Loads the code of a group when it is first
// used, so that a server that is only asked to run commands never reads it.

import { type Params, type Result, requests } from '../../protocol/index.js';
import { Slots } from '../../base/slots.js';
import { isConnectionMethod } from '../../protocol/services.js';
import type { AfterReply, CallContext, CallGroup, FlowMethod, HandlersOf, MethodsOf } from './call-group.js';

const groups = {
  files: async (context: CallContext): Promise<CallGroup<MethodsOf<'files'>>> =>
    (await import('./file-calls.js')).createFileCalls(context),
  fs: async (context: CallContext): Promise<CallGroup<MethodsOf<'fs'>>> =>
    (await import('./codex-file-calls.js')).createCodexFileCalls(context),
  http: async (context: CallContext): Promise<CallGroup<MethodsOf<'http'>>> =>
    (await import('./http-calls.js')).createHttpCalls(context),
  ports: async (context: CallContext): Promise<CallGroup<MethodsOf<'ports'>>> =>
    (await import('./port-calls.js')).createPortCalls(context),
  environmentConfig: async (context: CallContext): Promise<CallGroup<MethodsOf<'environmentConfig'>>> =>
    (await import('./config-calls.js')).createConfigCalls(context),
  capabilityRoots: async (context: CallContext): Promise<CallGroup<MethodsOf<'capabilityRoots'>>> =>
    (await import('./capability-calls.js')).createRootCalls(context),
  capabilities: async (context: CallContext): Promise<CallGroup<MethodsOf<'capabilities'>>> =>
    (await import('./capability-calls.js')).createCapabilityCalls(context),
};

type Word = keyof typeof groups;
export type MachineMethod = MethodsOf<Word>;

/** A handler whose types are those of the method it was looked up by. */
type AnyCall = (params: unknown, afterReplyOrFlow: unknown) => Promise<unknown>;

/** Any group, to be used with names of methods that it has. */
interface AnyGroup {
  readonly calls: Readonly<Record<string, AnyCall | undefined>>;
  readonly flowCalls: Readonly<Record<string, AnyCall | undefined>>;
  end(): void;
}

/**
 * Calls about files of one connection that run, or whose replies the client has not taken yet. Keeps the disk and the threads busy; each
 * reply may take some MiB.
 */
const mostFileCalls = 32;

export class MachineCalls {
  /** One for each method, those with a flow included. */
  readonly handlers: HandlersOf<MachineMethod> & {
    readonly [M in FlowMethod]: (params: Params<M>, afterReply: AfterReply) => Promise<Result<M>>;
  };
  readonly #context: CallContext;
  readonly #groups = new Map<Word, Promise<AnyGroup>>();
  readonly #fileCalls = new Slots(mostFileCalls);
  #isEnded = false;

  constructor(context: CallContext) {
    this.#context = context;
    const methods = Object.keys(requests).filter((name) => isConnectionMethod(name) && wordOf(name) !== undefined);
    const handlers = methods.map((name) => [
      name,
      async (params: { readonly flowId?: number } | null | undefined, afterReply: AfterReply) =>
        this.#call(name, params, afterReply),
    ]);
    // oxlint-disable-next-line typescript/no-unsafe-assignment -- keyed by dynamic names: one function per method in the table
    this.handlers = Object.fromEntries(handlers);
  }

  /** The caller has disconnected. */
  end(): void {
    this.#isEnded = true;
    for (const group of this.#groups.values()) void group.then((loaded) => loaded.end());
  }

  async #call(method: string, params: { readonly flowId?: number } | null | undefined, afterReply: AfterReply): Promise<unknown> {
    const flowId = params?.flowId;
    const group = this.#groupOf(method);
    if (flowId === undefined) {
      return hasShortReply(method)
        ? (await group).calls[method]?.(params, afterReply)
        : this.#callInTurn(method, params, afterReply);
    }
    // The flow is opened before the first await, because its bytes may be right behind the call.
    return this.#context.session.flows.run({ method, flowId }, async (flow) => (await group).flowCalls[method]?.(params, flow));
  }

  /** Bounds the replies that are held for a client that does not read them: a list of files may take megabytes. */
  async #callInTurn(method: string, params: unknown, afterReply: AfterReply): Promise<unknown> {
    await this.#fileCalls.take();
    const acts: (() => void)[] = [() => void this.#context.notify.nothing().then(() => this.#fileCalls.giveBack())];
    afterReply(() => acts.forEach((act) => act()));
    try {
      return await (await this.#groupOf(method)).calls[method]?.(params, (act: () => void) => acts.push(act));
    } catch (error) {
      acts.length = 0; // an error is short, and nothing follows it
      this.#fileCalls.giveBack();
      throw error;
    }
  }

  #groupOf(method: string): Promise<AnyGroup> {
    const word = wordOf(method);
    if (word === undefined) throw new Error(`${method} is in no group`);
    const known = this.#groups.get(word);
    if (known !== undefined) return known;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table meets dynamic names: each group is typed where it is made
    const loading = groups[word](this.#context) as Promise<AnyGroup>;
    this.#groups.set(word, loading);
    return loading.then((group) => {
      if (this.#isEnded) group.end(); // the caller went away while the code was being loaded
      return group;
    });
  }
}

/** Calls that are answered at once, whatever other calls do. */
function hasShortReply(method: string): boolean {
  return !/^(?:fs|files)\//.test(method) || ['fs/close', 'files/unwatch'].includes(method);
}

function wordOf(method: string): Word | undefined {
  const word = method.slice(0, method.indexOf('/'));
  return isWord(word) ? word : undefined;
}

function isWord(word: string): word is Word {
  return Object.hasOwn(groups, word);
}
