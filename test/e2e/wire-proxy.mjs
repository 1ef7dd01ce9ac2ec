// A TCP proxy between codex and the server: it forwards bytes unchanged, records the WebSocket messages among them, and can lose data in
// flight and cut the connection. Judges nothing.

import { once } from 'node:events';
import net from 'node:net';
import { Receiver } from 'ws';

/**
 * @typedef {object} WireMessage
 * @property {number} connection 1 for the first
 * @property {'codex' | 'server'} from
 * @property {any} body the message; or a text: the first line of an HTTP answer that is not an upgrade, or the error in a frame
 */

/** @param {string} target ws URL of the server */
export async function openWireProxy(target) {
  const proxy = new WireProxy(new URL(target));
  await proxy.open();
  return proxy;
}

export class WireProxy {
  /** @type {WireMessage[]} in order of arrival */
  messages = [];
  connections = 0;
  #target;
  #server = net.createServer((client) => this.#accept(client));
  #sockets = new Set();
  #waiting = new Set();
  #isLosing = false;

  constructor(target) {
    this.#target = target;
  }

  async open() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url() {
    return `ws://127.0.0.1:${this.#server.address().port}`;
  }

  /** Resolves when `isTrue`, which is called with the messages after each one, returns true. Rejects when the proxy is closed before. */
  async until(isTrue) {
    if (isTrue(this.messages)) return;
    await new Promise((resolve, reject) => this.#waiting.add({ isTrue, resolve, reject }));
  }

  /** From now on nothing that the server sends reaches codex, until the connection is cut. */
  lose() {
    this.#isLosing = true;
  }

  /** Resets every connection; new ones are accepted. */
  cut() {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#isLosing = false;
  }

  close() {
    this.cut();
    this.#server.close();
    for (const { reject } of this.#waiting) reject(new Error('the connection ended before the awaited message'));
    this.#waiting.clear();
  }

  #accept(client) {
    const connection = (this.connections += 1);
    const server = net.connect({ host: this.#target.hostname, port: Number(this.#target.port), noDelay: true });
    client.setNoDelay(true);
    this.#forward({ connection, from: 'codex', source: client, sink: server });
    this.#forward({ connection, from: 'server', source: server, sink: client });
  }

  #forward({ connection, from, source, sink }) {
    const listen = messageListener(from, (body) => this.#remember({ connection, from, body }));
    this.#sockets.add(source);
    source.on('data', (bytes) => {
      const isLost = from === 'server' && this.#isLosing;
      if (!isLost && !sink.write(bytes)) source.pause();
      listen(bytes);
    });
    sink.on('drain', () => source.resume());
    source.on('error', () => {}); // 'close' follows
    source.on('close', () => {
      this.#sockets.delete(source);
      sink.destroySoon();
    });
  }

  #remember(message) {
    this.messages.push(message);
    for (const waiter of this.#waiting) {
      if (!waiter.isTrue(this.messages)) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }
}

/** Takes the bytes of one direction, and calls `onMessage` with each message in them. The bytes before the first are HTTP. */
function messageListener(from, onMessage) {
  const receiver = new Receiver({ isServer: from === 'codex' });
  receiver.on('message', (bytes) => onMessage(parsed(bytes.toString())));
  receiver.on('error', (error) => onMessage(error.message));
  let head = Buffer.alloc(0);
  let isUpgraded = false;
  return (bytes) => {
    if (isUpgraded) return receiver.write(bytes);
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [firstLine] = head.toString('latin1').split('\r\n', 1);
    isUpgraded = from === 'codex' || firstLine.includes(' 101 ');
    return isUpgraded ? receiver.write(head.subarray(end + 4)) : onMessage(firstLine);
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    return `${error.message}: ${text}`;
  }
}

/**
 * The messages about each process that codex started: the reply to its start and its events in order of
 * arrival, and its output.
 *
 * @param {WireMessage[]} messages
 */
export function livesOf(messages) {
  return messages
    .filter(({ from, body }) => from === 'codex' && body.method === 'process/start')
    .map(({ connection, body: start }) => {
      const id = start.params.processId;
      const isReply = (message) => message.connection === connection && message.body.id === start.id;
      const sent = messages.filter(({ from }) => from === 'server');
      const events = sent.filter((message) => isReply(message) || message.body.params?.processId === id).map(({ body }) => body);
      const chunks = events.flatMap(({ method, params }) =>
        method === 'process/output' ? [Buffer.from(params.chunk, 'base64')] : [],
      );
      return { id, events, bytes: Buffer.concat(chunks) };
    });
}
