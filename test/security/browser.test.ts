// Promise 7 with a real browser: a web page cannot reach a server on its visitor's machine, whatever it tries.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Chromium, type Page, noChromium } from '../support/chromium.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

/** Tries every way in which a page can make a request to one address, and returns the outcomes. */
const attempts = `
async function attempts(host) {
  const outcome = (promise) => promise.then(String, () => 'refused');
  const element = (tag, attribute, address) => outcome(new Promise((resolve, reject) => {
    const made = Object.assign(document.createElement(tag), { onload: () => resolve('loaded'), onerror: reject });
    made[attribute] = address;
    document.body.append(made);
  }));
  const socket = (protocols) => outcome(new Promise((resolve, reject) => {
    const made = new WebSocket('ws://' + host, protocols);
    made.onopen = () => { made.close(); resolve('opened'); };
    made.onerror = reject;
  }));
  const read = (path, init) => outcome(fetch('http://' + host + path, init).then(async (response) => response.status + ' ' + await response.text()));
  return {
    socket: await socket([]),
    socketWithProtocol: await socket(['sluice.v0']),
    metrics: await read('/metrics'),
    health: await read('/healthz'),
    post: await read('/', { method: 'POST', body: '{"id":1,"method":"initialize"}' }),
    preflight: await read('/metrics', { headers: { authorization: 'Bearer guess' } }),
    blind: await read('/metrics', { mode: 'no-cors' }),
    blindPost: await read('/', { method: 'POST', mode: 'no-cors', body: '{}' }),
    image: await element('img', 'src', 'http://' + host + '/healthz'),
    script: await element('script', 'src', 'http://' + host + '/metrics'),
  };
}`;

const nothing = {
  socket: 'refused',
  socketWithProtocol: 'refused',
  metrics: 'refused',
  health: 'refused',
  post: 'refused',
  preflight: 'refused',
  // The response is opaque to the page, whatever it is.
  blind: '0 ',
  blindPost: '0 ',
  image: 'refused',
  script: 'refused',
};

const blank = `<!doctype html><body><script>${attempts}</script>`;

/** The same from inside a frame without an origin. */
const framed = `<!doctype html><body><script>
function framedAttempts(host) {
  return new Promise((resolve) => {
    addEventListener('message', ({ data }) => resolve(data));
    const frame = Object.assign(document.createElement('iframe'), { sandbox: 'allow-scripts' });
    frame.srcdoc = ${JSON.stringify(blank).replaceAll('</', '<\\/')} + '<script>attempts("' + host + '").then((all) => parent.postMessage(all, "*"))<' + '/script>';
    document.body.append(frame);
  });
}</script>`;

guardAgainstLeaks();

describe('a web page', { skip: noChromium }, () => {
  const site = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(request.url === '/framed' ? framed : blank);
  });
  let port = 0;
  let browser: Chromium;
  let server: SluiceServer;
  let host = '';

  before(async () => {
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    port = (site.address() as AddressInfo).port;
    server = await SluiceServer.start('websocket', ['--allow-origin', `http://good.test:${port}`]);
    host = new URL(server.url).host;
    browser = Chromium.open();
  });
  after(async () => {
    await browser[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    site.closeAllConnections();
    site.close();
  });

  /** Asserts that every response of the server to the page was a refusal. */
  async function assertRefused(page: Page, target: string): Promise<void> {
    // Chromium reports some responses without a URL; a 403 among them is the server's, since the page's own site refuses nothing.
    const answers = () => page.answers.filter(({ url, status }) => url.includes(target) || (url === '' && status === 403));
    // It reports them asynchronously, possibly after the page's result.
    await eventually(() => assert.ok(answers().length >= Object.keys(nothing).length, JSON.stringify(page.answers)));
    assert.deepEqual(
      answers().filter(({ status }) => status !== 403),
      [],
    );
  }

  test('of another origin is refused', async () => {
    for (const name of ['evil.test', '127.0.0.1', 'localhost']) {
      const page = await browser.page(`http://${name}:${port}/`);
      assert.deepEqual(await page.evaluate(`attempts('${host}')`), nothing, name);
      await assertRefused(page, host);
    }
  });

  test('whose name was rebound to this machine is refused, although it has the same origin', async () => {
    const rebound = `evil.test:${new URL(server.url).port}`;
    const page = await browser.page(`http://${rebound}/page`, { servedAs: blank });
    const refused = '403 this server does not accept the host';
    const got = await page.evaluate<Record<string, string>>(`attempts('${rebound}')`);
    for (const [way, outcome] of Object.entries(got)) {
      assert.ok(outcome === 'refused' || outcome.startsWith(refused), `${way}: ${outcome}`);
    }
    assert.deepEqual([got['socket'], got['socketWithProtocol']], ['refused', 'refused']);
    assert.deepEqual(
      page.answers.filter(({ url, status }) => status !== 403 && !url.endsWith('/page')),
      [],
    );
  });

  test('without an origin is refused: in a sandboxed frame, or from a file', async () => {
    const page = await browser.page(`http://good.test:${port}/framed`);
    assert.deepEqual(await page.evaluate(`framedAttempts('${host}')`), nothing);
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    try {
      writeFileSync(join(folder, 'page.html'), blank);
      const file = await browser.page(pathToFileURL(join(folder, 'page.html')).href);
      assert.deepEqual(await file.evaluate(`attempts('${host}')`), nothing);
      await assertRefused(file, host);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('of an allowed origin can open a WebSocket and gets an answer over it', async () => {
    const page = await browser.page(`http://good.test:${port}/`);
    const { socket, socketWithProtocol, image } = await page.evaluate<Record<string, string>>(`attempts('${host}')`);
    assert.deepEqual({ socket, socketWithProtocol, image }, { socket: 'opened', socketWithProtocol: 'opened', image: 'refused' });
    const answer = await page.evaluate<string>(`new Promise((resolve) => {
      const socket = new WebSocket('ws://${host}');
      socket.onopen = () => socket.send('{"id":1,"method":"initialize","params":{"clientName":"page"}}');
      socket.onmessage = ({ data }) => { socket.close(); resolve(data); };
    })`);
    assert.match(answer, /"protocolVersion":"exec-server\.v0"/);
  });
});
