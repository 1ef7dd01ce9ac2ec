// A real headless browser, controlled over a pipe with the DevTools protocol. Knows pages and the responses that they got; not what the
// pages are for.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type Deferred, deferred } from '#src/base/deferred.js';

/** Why this machine has no browser to test with, or false if it has one. */
export const noChromium = spawnSync('chromium', ['--version']).status === 0 ? false : 'chromium is not installed';

const flags = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--remote-debugging-pipe'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
  // This browser's own protection, which not all have: the tests are about the server's.
  '--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets',
];

/** A server's answer to a page, as the browser saw it. */
export interface SeenAnswer {
  readonly url: string;
  readonly status: number;
}

interface Incoming {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

export class Chromium implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #commands: Writable;
  readonly #pending = new Map<number, Deferred<Record<string, unknown>>>();
  readonly #listeners = new Set<(message: Incoming) => void>();
  #nextId = 1;

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
    const [commands, answers] = [child.stdio[3] as Writable, child.stdio[4] as Readable];
    this.#commands = commands;
    let rest = '';
    answers.setEncoding('utf8').on('data', (piece: string) => {
      const messages = (rest + piece).split('\0');
      rest = messages.pop() ?? '';
      for (const message of messages) this.#received(JSON.parse(message) as Incoming);
    });
  }

  /** Resolves every name below .test to this machine. */
  static open(): Chromium {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const own = [`--user-data-dir=${folder}`, '--host-resolver-rules=MAP *.test 127.0.0.1'];
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] as const;
    return new Chromium(
      spawn('chromium', [...flags, ...own, 'about:blank'], { stdio: [...stdio], env: { ...process.env, HOME: folder } }),
      folder,
    );
  }

  /** Opens a page and waits until it has loaded. */
  async page(url: string, options: { readonly servedAs?: string } = {}): Promise<Page> {
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, String(sessionId));
    await page.load(url, options.servedAs);
    return page;
  }

  listen(listener: (message: Incoming) => void): void {
    this.#listeners.add(listener);
  }

  async call(method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> {
    const id = this.#nextId;
    this.#nextId += 1;
    const answer = deferred<Record<string, unknown>>();
    this.#pending.set(id, answer);
    this.#commands.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return answer.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, 'close');
    void this.call('Browser.close');
    await exited;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #received(message: Incoming): void {
    if (message.id === undefined) {
      for (const listener of this.#listeners) listener(message);
      return;
    }
    const pending = this.#pending.get(message.id);
    if (message.error === undefined) pending?.resolve(message.result ?? {});
    else pending?.reject(new Error(message.error.message));
  }
}

export class Page {
  /** Servers' answers to this page, including its frames. */
  readonly answers: SeenAnswer[] = [];
  readonly #browser: Chromium;
  readonly #sessionId: string;
  readonly #loaded = deferred<undefined>();
  readonly #urls = new Map<string, string>();
  #document: { readonly url: string; readonly html: string } | undefined;

  constructor(browser: Chromium, sessionId: string) {
    this.#browser = browser;
    this.#sessionId = sessionId;
    browser.listen((message) => message.sessionId === sessionId && this.#onEvent(message.method ?? '', message.params ?? {}));
  }

  /** With `servedAs`, the document is this text whatever its address, as if that server had sent it earlier. */
  async load(url: string, servedAs: string | undefined): Promise<void> {
    await Promise.all([this.#call('Network.enable'), this.#call('Page.enable')]);
    if (servedAs !== undefined) {
      this.#document = { url, html: servedAs };
      await this.#call('Fetch.enable', { patterns: [{ urlPattern: url }] });
    }
    await this.#call('Page.navigate', { url });
    await this.#loaded.promise;
    if (servedAs !== undefined) await this.#call('Fetch.disable');
  }

  /** The value of an expression, once its promise has resolved. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.#call('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
    return (result as { value: T }).value;
  }

  #call(method: string, params: object = {}): Promise<Record<string, unknown>> {
    return this.#browser.call(method, params, this.#sessionId);
  }

  #onEvent(method: string, params: Record<string, unknown>): void {
    const requestId = String(params['requestId']);
    const answered = (status: unknown) => this.answers.push({ url: this.#urls.get(requestId) ?? '', status: Number(status) });
    switch (method) {
      case 'Page.loadEventFired':
        return this.#loaded.resolve(undefined);
      case 'Fetch.requestPaused':
        return void this.#serve(requestId);
      case 'Network.requestWillBeSent':
        return void this.#urls.set(requestId, (params['request'] as { url: string }).url);
      case 'Network.webSocketCreated':
        return void this.#urls.set(requestId, String(params['url']));
      // Includes responses that are withheld from the page.
      case 'Network.responseReceivedExtraInfo':
        return void answered(params['statusCode']);
      case 'Network.webSocketHandshakeResponseReceived':
        return void answered((params['response'] as { status: number }).status);
      // The only event about a refused handshake.
      case 'Network.webSocketFrameError':
        return void answered(/response code: (\d+)/.exec(String(params['errorMessage']))?.[1]);
      default:
    }
  }

  async #serve(requestId: string): Promise<void> {
    const body = Buffer.from(this.#document?.html ?? '').toString('base64');
    const responseHeaders = [{ name: 'content-type', value: 'text/html' }];
    await this.#call('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders, body });
  }
}
