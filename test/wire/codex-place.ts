// A tree with one of everything, and a server that is asked about it with Codex's calls.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { overStdio } from '../support/raw-connections.js';
import { type RawPeer, errorOf } from '../support/raw-peer.js';

/** What Codex's server answers: nothing there, a rule or missing rights, any other failure, malformed parameters. */
export const [absent, refused, failed, invalid] = [-32004, -32600, -32603, -32602];

/** The content of `file.txt`, as base64. */
export const hello = Buffer.from('hello\n').toString('base64');

export class CodexPlace implements AsyncDisposable {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-codex-files-')));
  readonly #peer: RawPeer;

  private constructor(peer: RawPeer) {
    this.#peer = peer;
    for (const folder of ['dir/sub', 'full/a/b', '.hid/in']) mkdirSync(this.at(folder), { recursive: true });
    const files = {
      'file.txt': 'hello\n',
      'dir/one.txt': '1',
      'dir/sub/two.txt': '22',
      'full/a/b/c.txt': 'c',
      '.hid/in/x': 'x',
      'sp é%': 'é',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(this.at(name), text);
    const links = {
      link: 'file.txt',
      linkdir: 'dir',
      broken: 'nowhere',
      loop: 'loop',
      'dir/lsub': 'sub',
      'dir/lone': 'one.txt',
      'dir/gone': 'x',
    };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, this.at(name));
    execFileSync('mkfifo', [this.at('fifo'), this.at('dir/fifo')]);
  }

  static async open(flags: readonly string[] = []): Promise<CodexPlace> {
    const peer = await overStdio(flags);
    await peer.greet();
    return new CodexPlace(peer);
  }

  at(name: string): string {
    return join(this.root, name);
  }

  uri(name: string): string {
    return pathToFileURL(this.at(name)).href;
  }

  /** The code of an error, or the result with the root shown as /R. */
  async ask(method: string, params: object): Promise<unknown> {
    const { error, result } = await this.#peer.request(method, params);
    if (typeof error === 'object' && error !== null && 'code' in error) return error.code;
    return JSON.parse(JSON.stringify(result).replaceAll(this.root, '/R')) as unknown;
  }

  async text(method: string, params: object): Promise<string> {
    return errorOf(await this.#peer.request(method, params)).message;
  }

  /** What a method answers about each of these paths. */
  async each(method: string, paths: readonly string[], more: object = {}): Promise<unknown[]> {
    const answers = [];
    for (const path of paths) answers.push(await this.ask(method, { path: this.uri(path), ...more }));
    return answers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer[Symbol.asyncDispose]();
    rmSync(this.root, { recursive: true, force: true });
  }
}
