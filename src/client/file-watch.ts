// One watch of files as an async iterable. A reader that lags loses the oldest changes and is told so; a lost connection is not the end.

import type { FileChange, Notification } from '../protocol/index.js';
import { type Deferred, deferred } from '../base/deferred.js';
import { ConnectionClosedError } from '../rpc/rpc-error.js';
import type { ExecLink } from './exec-link.js';

export type FileEvent =
  | FileChange
  /** Changes were lost here, on the server or with a connection: what is known about these files may be out of date. */
  | { readonly kind: 'overflow' };

export interface WatchOptions {
  /** Folders below it too; false when absent. */
  readonly recursive?: boolean;
}

/** Changes kept for a reader that lags; a few hundred bytes each. */
const maxQueuedChanges = 10_000;

interface WatchParams extends WatchOptions {
  readonly watchId: number;
  readonly path: string;
}

/** Leaving the loop ends the watch. It ends by itself when the watched file or folder is gone, and rejects when the server is lost. */
export class FileWatch implements AsyncIterableIterator<FileEvent>, AsyncDisposable {
  /** Resolves once the server watches, so that no later change is missed. Rejects if it cannot, as does reading. */
  readonly ready: Promise<void>;
  readonly #link: ExecLink;
  readonly #params: WatchParams;
  readonly #listening: Disposable;
  #queue: FileEvent[] = [];
  #isOver = false;
  #isRegistering = false;
  #failure: { readonly error: unknown } | undefined;
  #arrival: Deferred<undefined> | undefined;

  constructor(link: ExecLink, params: WatchParams) {
    this.#link = link;
    this.#params = params;
    this.#listening = link.listen({
      filesChanged: (changed) => this.#changed(changed),
      reconnected: () => void this.#register('again'),
    });
    this.ready = this.#register('first');
    this.ready.catch(() => {}); // reading reports it too
    void link.ended.then((problem) => {
      if (problem === undefined) this.#end();
      else this.#fail(new ConnectionClosedError(problem));
    });
  }

  async next(): Promise<IteratorResult<FileEvent>> {
    for (;;) {
      const value = this.#queue.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#isOver) return { done: true, value: undefined };
      this.#arrival ??= deferred<undefined>();
      await this.#arrival.promise;
    }
  }

  /** Does not wait for the server: it may be out of reach, and a watch ends with its connection. */
  async return(): Promise<IteratorResult<FileEvent>> {
    this.#queue = [];
    const { watchId } = this.#params;
    if (!this.#isOver) void this.#link.service['files/unwatch']({ watchId }).catch(() => {});
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** A watch ends with its connection, so it is registered again with the next one. A call in progress is repeated by the link. */
  async #register(time: 'first' | 'again'): Promise<void> {
    if (this.#isOver || this.#isRegistering) return;
    this.#isRegistering = true;
    try {
      await this.#link.service['files/watch'](this.#params);
      if (time === 'again') this.#push({ kind: 'overflow' });
    } catch (error) {
      this.#fail(error);
      if (time === 'first') throw error;
    } finally {
      this.#isRegistering = false;
    }
  }

  #changed({ watchId, changes, overflow, ended }: Notification<'files/changed'>): void {
    if (watchId !== this.#params.watchId || this.#isOver) return;
    if (overflow === true) this.#push({ kind: 'overflow' });
    for (const change of changes) this.#push(change);
    if (ended !== undefined) this.#end();
  }

  #push(event: FileEvent): void {
    if (this.#isOver) return;
    this.#queue.push(event);
    // Drops half at once, so that this is rare.
    if (this.#queue.length > maxQueuedChanges) this.#queue = [{ kind: 'overflow' }, ...this.#queue.slice(-maxQueuedChanges / 2)];
    this.#wake();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#failure = { error };
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#listening[Symbol.dispose]();
    this.#wake();
  }

  #wake(): void {
    this.#arrival?.resolve(undefined);
    this.#arrival = undefined;
  }
}
