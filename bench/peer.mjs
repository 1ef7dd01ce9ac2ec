// A client of a server: requests with their replies, processes with their output. It checks each sequence number and each byte on
// arrival, and any error fails everything in progress.

import { numberAt } from './digits.mjs';
import { Followed } from './followed.mjs';
import { checkedContent } from './read-content.mjs';
import { checkedPage } from './read-page.mjs';
import { searchPath } from './environment.mjs';

/** @import { Content } from './content.mjs' */
/** @import { Wire, WireHandlers } from './inbox.mjs' */

const letterI = 0x69;
const letterM = 0x6d;
const quote = 0x22;
const outputPrefix = Buffer.from('{"method":"process/output","params":{"processId":"p');
const afterId = '","seq":'.length;
const beforeStream = ',"stream":"'.length;
const beforeChunk = '","chunk":"'.length;
const afterChunk = '"}}'.length;
const idPrefix = '{"id":'.length;

/** Both servers accept this form. */
const cwd = 'file:///';

/** Like our own client, which acknowledges every 64 KiB. */
const acknowledgeEveryBytes = 64 * 1024;

/** Bytes of an output frame before the process id. */
const frameHeadBytes = 15;

/**
 * Parses the reply between `start` and `end`.
 * @template T
 * @typedef {(bytes: Buffer, start: number, end: number) => T} Read
 */
/** @typedef {{ bytes: Buffer, start: number, end: number }} Message */

export class Peer {
  /** @type {Wire} */
  #wire = { send: notOpen, pause: notOpen, resume: notOpen, close: () => {} };
  #eventCount = 0;
  #contentBytes = 0;
  #reorderedCount = 0;
  /** @type {'strict' | 'any'} */
  #order = 'strict';
  #acknowledges = false;
  #nextId = 0;
  /** @type {Map<number, { resolve: (value: unknown) => void, reject: (error: unknown) => void, read: Read<unknown> }>} */
  #pending = new Map();
  /** @type {Followed[]} */
  #processes = [];
  /** @type {Error | undefined} */
  #failure;

  /**
   * @param {(handlers: WireHandlers) => Wire | Promise<Wire>} openWire
   * @param {object} options
   * @param {'strict' | 'any'} options.order any: events may arrive before their turn and are held until then, as with codex
   * @param {'json' | 'binary'} options.output binary: output in frames and with acknowledgements, as in our own client
   */
  static async open(openWire, { order, output }) {
    const peer = new Peer();
    peer.#order = order;
    peer.#acknowledges = output === 'binary';
    peer.#wire = await openWire({
      onText: (bytes, start, end) => peer.#onText(bytes, start, end),
      onBinary: (bytes, start, end) => peer.#onFrame(bytes, start, end),
      onEnd: (error) => peer.#fail(error),
    });
    const capabilities = output === 'binary' ? { capabilities: { binaryOutput: true, acks: true } } : {};
    await peer.request('initialize', { clientName: 'sluice-bench', ...capabilities });
    peer.notify('initialized');
    return peer;
  }

  /**
   * @param {string} method
   * @param {object} params
   */
  request(method, params) {
    return this.#send(method, { body: JSON.stringify(params), read: parseReply });
  }

  /**
   * @param {{processId: string, afterSeq: number, maxBytes?: number}} params of process/read
   * @param {{content: Content, offset: number}} expected content, and the offset at which the page begins
   */
  readPage(params, { content, offset }) {
    /** @type {Read<{ offset: number, nextSeq: number }>} */
    const read = (bytes, start, end) => checkedPage({ bytes, start, end }, { content, offset, afterSeq: params.afterSeq });
    return this.#send('process/read', { body: JSON.stringify(params), read });
  }

  /**
   * @param {'fs/readFile' | 'fs/readBlock'} method
   * @param {object} params
   * @param {{content: Content, offset: number}} expected content, and the offset at which the reply begins
   * @returns {Promise<number>} bytes in the reply
   */
  async readContent(method, params, expected) {
    /** @type {Read<number>} */
    const read = (bytes, start, end) => checkedContent({ bytes, start, end }, expected);
    const count = await this.#send(method, { body: JSON.stringify(params), read });
    this.#contentBytes += count;
    return count;
  }

  /**
   * A request whose parameters are JSON already, since they are long.
   * @param {string} method
   * @param {string} body
   */
  requestText(method, body) {
    return this.#send(method, { body, read: parseReply });
  }

  /**
   * @param {string} method
   * @param {object} [params]
   */
  notify(method, params) {
    this.#wire.send(JSON.stringify({ method, params }));
  }

  /**
   * @param {object} spec
   * @param {string[]} spec.argv
   * @param {'pipe' | 'input' | 'tty'} [spec.io] pipe if absent; input: a pipe for stdin too
   * @param {Content} [spec.content] what it writes; nothing if absent
   * @param {number} [spec.total] bytes it writes before it closes, if known
   */
  start({ argv, io = 'pipe', content, total = content === undefined ? 0 : undefined }) {
    const followed = new Followed({ number: this.#processes.length, content, total });
    this.#processes.push(followed);
    const params = {
      processId: followed.id,
      argv,
      cwd,
      env: { PATH: searchPath },
      tty: io === 'tty',
      pipeStdin: io === 'input',
    };
    followed.started = this.request('process/start', params);
    followed.started.catch((error) => followed.fail(error));
    return followed;
  }

  /**
   * @param {Followed} child
   * @param {Buffer} bytes
   */
  write({ id }, bytes) {
    const body = `{"processId":"${id}","chunk":"${bytes.toString('base64')}","writeId":"${this.#nextId}"}`;
    return this.#send('process/write', { body, read: parseReply });
  }

  /** What was checked, for the report. */
  get counts() {
    const bytes = this.#processes.reduce((sum, { received }) => sum + received, this.#contentBytes);
    return { bytes, events: this.#eventCount, reordered: this.#reorderedCount };
  }

  pause() {
    this.#wire.pause();
  }

  resume() {
    this.#wire.resume();
  }

  close() {
    this.#failure ??= new Error('the client closed the connection');
    this.#wire.close();
  }

  /**
   * @template T
   * @param {string} method
   * @param {{ body: string, read: Read<T> }} request
   * @returns {Promise<T>}
   */
  async #send(method, { body, read }) {
    if (this.#failure !== undefined) throw this.#failure;
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: /** @type {(value: unknown) => void} */ (resolve), reject, read });
      this.#wire.send(`{"id":${id},"method":"${method}","params":${body}}`);
    });
  }

  /**
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  #onText(bytes, start, end) {
    if (bytes[start + 2] === letterI) this.#onReply(bytes, start, end);
    else if (bytes[start + 2] !== letterM) throw new Error(`not a message: ${shown(bytes, start, end)}`);
    else if (bytes.compare(outputPrefix, 0, outputPrefix.length, start, start + outputPrefix.length) === 0) {
      this.#onOutput(bytes, start, end);
    } else this.#onEvent(bytes, start, end);
  }

  /**
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  #onReply(bytes, start, end) {
    const { value: id } = numberAt(bytes, start + idPrefix);
    const pending = this.#pending.get(id);
    if (pending === undefined) throw new Error(`an unexpected reply: ${shown(bytes, start, end)}`);
    this.#pending.delete(id);
    try {
      pending.resolve(pending.read(bytes, start, end));
    } catch (error) {
      pending.reject(error);
    }
  }

  /**
   * Parses by position, because parsing JSON would take longer than everything else the client does.
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  #onOutput(bytes, start, end) {
    const { value: number, end: idEnd } = numberAt(bytes, start + outputPrefix.length);
    const { value: seq, end: seqEnd } = numberAt(bytes, idEnd + afterId);
    let at = seqEnd + beforeStream;
    while (bytes[at] !== quote) at += 1;
    const chunk = { bytes, start: at + beforeChunk, end: end - afterChunk };
    if (bytes[chunk.start - 1] !== quote || bytes[chunk.end] !== quote) throw new Error(`bad chunk: ${shown(bytes, start, end)}`);
    const followed = this.#processOf(number);
    if (!this.#isNext(followed, seq, { bytes, start, end })) return;
    followed.takeBase64(chunk);
    this.#took(followed);
  }

  /**
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  #onFrame(bytes, start, end) {
    const chunkStart = start + frameHeadBytes + bytes.readUInt16BE(start + 1);
    const number = Number(bytes.toString('latin1', start + frameHeadBytes + 1, chunkStart));
    const seq = bytes.readUIntBE(start + 3, 6);
    const followed = this.#processOf(number);
    if (bytes.readUIntBE(start + 9, 6) !== 0) throw new Error(`output of ${followed.id} is missing before ${seq}`);
    if (!this.#isNext(followed, seq, undefined)) return;
    followed.takeBytes({ bytes, start: chunkStart, end });
    this.#took(followed);
  }

  /**
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  #onEvent(bytes, start, end) {
    const { method, params } = JSON.parse(bytes.toString('latin1', start, end));
    const followed = this.#processOf(Number(params.processId.slice(1)));
    if (!this.#isNext(followed, params.seq, { bytes, start, end })) return;
    if (method === 'process/exited') followed.exitCode = params.exitCode;
    else if (method === 'process/closed') followed.takeClosed();
    else throw new Error(`unexpected ${method}`);
    if (method === 'process/closed') this.#acknowledge(followed);
    this.#took(followed);
  }

  /**
   * Numbers go up by one. Codex occasionally sends an event before its turn; it is held here.
   * @param {Followed} followed
   * @param {number} seq
   * @param {Message | undefined} message
   */
  #isNext(followed, seq, message) {
    if (seq === followed.nextSeq) return true;
    if (seq < followed.nextSeq || this.#order === 'strict' || message === undefined) {
      throw new Error(`${followed.id}: event ${seq} arrived when ${followed.nextSeq} was expected`);
    }
    this.#reorderedCount += 1;
    followed.early.set(seq, Buffer.from(message.bytes.subarray(message.start, message.end)));
    return false;
  }

  /** @param {Followed} followed */
  #took(followed) {
    followed.nextSeq += 1;
    this.#eventCount += 1;
    if (this.#acknowledges && followed.received - followed.acknowledgedBytes >= acknowledgeEveryBytes)
      this.#acknowledge(followed);
    const early = followed.early.get(followed.nextSeq);
    if (early === undefined) return;
    followed.early.delete(followed.nextSeq);
    this.#onText(early, 0, early.length);
  }

  /** @param {Followed} followed */
  #acknowledge(followed) {
    if (!this.#acknowledges) return;
    followed.acknowledgedBytes = followed.received;
    this.notify('process/ack', { processId: followed.id, seq: followed.nextSeq });
  }

  /** @param {number} number */
  #processOf(number) {
    const followed = this.#processes[number];
    if (followed === undefined) throw new Error(`an event for process number ${number}, which was not started`);
    return followed;
  }

  /** @param {Error} error */
  #fail(error) {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    for (const { reject } of this.#pending.values()) reject(error);
    for (const followed of this.#processes) followed.fail(error);
  }
}

function notOpen() {
  throw new Error('the connection is not open yet');
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @returns {unknown}
 */
function parseReply(bytes, start, end) {
  const { result, error } = JSON.parse(bytes.toString('utf8', start, end));
  if (error !== undefined) throw new Error(`the server refused the request: ${JSON.stringify(error)}`);
  return result;
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 */
function shown(bytes, start, end) {
  return bytes.toString('utf8', start, Math.min(end, start + 200));
}
