// A server under measurement: launched directly, driven over the measured transport, and ended by its pid.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { cpuSecondsOf, memoryOf } from '../dist-test/support/proc.js';
import { ownSession } from './environment.mjs';
import { Peer } from './peer.mjs';
import { openStdio } from './stdio-wire.mjs';
import { openWebSocket } from './websocket-wire.mjs';

/** @import { WireHandlers } from './inbox.mjs' */
/** @import { ChildProcess, ChildProcessByStdio, SpawnOptions } from 'node:child_process' */
/** @import { Readable, Writable } from 'node:stream' */

/** How long a server may take to end before it is killed, in milliseconds. */
const endMs = 10_000;

/**
 * @typedef {object} Target a program to measure
 * @property {string} name
 * @property {string[]} command that takes `--listen`
 * @property {'strict' | 'any'} order in which its events arrive
 */
/** @typedef {ChildProcessByStdio<Writable, Readable, null>} Child without stdin over ws */

/**
 * Killed when this program ends, however it ends.
 * @type {Set<ChildProcess>}
 */
const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class Server {
  #target;
  #child;
  /** @type {string | undefined} none over stdio */
  #url;
  /** @type {Peer[]} */
  #peers = [];

  /**
   * @param {Target} target
   * @param {Child} child
   */
  constructor(target, child) {
    this.#target = target;
    this.#child = child;
  }

  /**
   * @param {Target} target
   * @param {object} options
   * @param {'ws' | 'stdio'} options.transport
   * @param {Record<string, string>} options.env
   * @param {string[]} [options.flags] more arguments
   */
  static async launch(target, { transport, env, flags = [] }) {
    const listen = transport === 'ws' ? 'ws://127.0.0.1:0' : 'stdio';
    const [program, ...args] = target.command;
    const stdin = transport === 'ws' ? 'ignore' : 'pipe';
    const options = { env, cwd: '/', stdio: [stdin, 'pipe', 'ignore'], ...ownSession };
    const child = /** @type {Child} */ (
      spawn(program, [...args, '--listen', listen, ...flags], /** @type {SpawnOptions} */ (options))
    );
    running.add(child);
    child.once('exit', () => running.delete(child));
    await once(child, 'spawn');
    const server = new Server(target, child);
    if (transport === 'ws') server.#url = await firstLine(child, target.name);
    return server;
  }

  /**
   * Opens a connection and initializes it. Over stdio there can be only one.
   * @param {object} [options]
   * @param {'nudge' | 'plain'} [options.reads]
   * @param {'json' | 'binary'} [options.output]
   */
  async connect({ reads = 'plain', output = 'json' } = {}) {
    /** @param {WireHandlers} handlers */
    const openWire = (handlers) =>
      this.#url === undefined ? openStdio(this.#child, handlers) : openWebSocket(this.#url, { reads, ...handlers });
    const peer = await Peer.open(openWire, { order: this.#target.order, output });
    this.#peers.push(peer);
    return peer;
  }

  /** Where it listens, for clients other than ours. */
  get url() {
    if (this.#url === undefined) throw new Error(`${this.#target.name} was launched over stdio and has no address`);
    return this.#url;
  }

  /**
   * Seconds of CPU time so far.
   * @param {'own' | 'family'} scope
   */
  cpuSeconds(scope = 'own') {
    return cpuSecondsOf(this.#pid, scope);
  }

  /** Bytes. */
  memory() {
    return memoryOf(this.#pid);
  }

  get #pid() {
    return this.#child.pid ?? 0;
  }

  /** What its connections have checked so far. */
  get counts() {
    return this.#peers.map(({ counts }) => counts);
  }

  /** Ends it and everything it runs. */
  async stop() {
    for (const peer of this.#peers) peer.close();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    if (this.#url === undefined) this.#child.stdin.destroy();
    else this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), endMs);
    await exit;
    clearTimeout(force);
  }
}

/**
 * @param {Child} child
 * @param {string} name
 * @returns {Promise<string>}
 */
async function firstLine(child, name) {
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with code ${code} before it listened`);
  });
  const [line] = await Promise.race([once(lines, 'line'), ended]);
  ended.catch(() => {}); // it exits at some point, which is expected
  lines.close();
  child.stdout.resume();
  return line;
}
