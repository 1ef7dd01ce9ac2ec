// Codex's calls about files: what each answers, including the odd cases. The expected codes are those of Codex's own server.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { descriptorCount } from '../support/proc.js';
import { overStdio, overWebSocket } from '../support/raw-connections.js';
import { type RawPeer, errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const [absent, refused, failed, invalid] = [-32004, -32600, -32603, -32602];
const hello = Buffer.from('hello\n').toString('base64');

/** A tree with one of everything, and a server to ask about it. */
class Place implements AsyncDisposable {
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

  static async open(flags: readonly string[] = []): Promise<Place> {
    const peer = await overStdio(flags);
    await peer.greet();
    return new Place(peer);
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

describe('a whole file', () => {
  guardAgainstLeaks();

  test('is read through links, and only if it is a regular file', async () => {
    await using place = await Place.open();
    const paths = ['file.txt', 'link', 'sp é%', 'nope', 'broken', 'loop', 'dir', 'fifo', 'file.txt/below'];
    const read = { dataBase64: hello };
    assert.deepEqual(await place.each('fs/readFile', paths), [
      read,
      read,
      { dataBase64: 'w6k=' },
      absent,
      absent,
      failed,
      refused,
      refused,
      failed,
    ]);
    assert.equal(await place.ask('fs/readFile', { path: 'file:///dev/zero' }), refused);
  });

  test('is not read through a link if links are refused', async () => {
    await using place = await Place.open();
    const paths = ['file.txt', 'link', 'linkdir/one.txt'];
    assert.deepEqual(await place.each('fs/readFile', paths, { followSymlinks: false }), [{ dataBase64: hello }, failed, failed]);
  });

  test('is written in place, also through a link that leads nowhere yet', async () => {
    await using place = await Place.open();
    const { ino } = statSync(place.at('file.txt'));
    assert.deepEqual(await place.each('fs/writeFile', ['file.txt', 'new', 'broken'], { dataBase64: 'eA==' }), [{}, {}, {}]);
    assert.equal(statSync(place.at('file.txt')).ino, ino);
    assert.deepEqual(
      ['file.txt', 'new', 'nowhere'].map((name) => readFileSync(place.at(name), 'utf8')),
      ['x', 'x', 'x'],
    );
  });

  test('is not written where that is impossible, and the reason decides the code', async () => {
    await using place = await Place.open();
    const data = { dataBase64: 'eA==' };
    assert.deepEqual(await place.each('fs/writeFile', ['no/parent', 'file.txt/below', 'dir', 'fifo'], data), [
      absent,
      failed,
      failed,
      refused,
    ]);
    assert.equal(await place.ask('fs/writeFile', { path: place.uri('link'), followSymlinks: false, ...data }), failed);
    assert.equal(await place.ask('fs/writeFile', { path: 'file:///dev/full', ...data }), failed);
  });

  test('must be sent as padded base64; malformed bytes change nothing', async () => {
    await using place = await Place.open();
    const path = place.uri('file.txt');
    const codes = [];
    for (const dataBase64 of ['***', 'eA', undefined]) codes.push(await place.ask('fs/writeFile', { path, dataBase64 }));
    assert.deepEqual(codes, [refused, refused, invalid]);
    assert.equal(readFileSync(place.at('file.txt'), 'utf8'), 'hello\n');
  });

  test('of several megabytes travels in one message', async () => {
    await using place = await Place.open();
    const dataBase64 = Buffer.alloc(20 * 1024 * 1024, 'x').toString('base64');
    assert.deepEqual(await place.ask('fs/writeFile', { path: place.uri('large'), dataBase64 }), {});
    assert.deepEqual(await place.ask('fs/readFile', { path: place.uri('large') }), { dataBase64 });
  });

  test('that is missing is reported in the words that Codex’s client shows to models', async () => {
    await using place = await Place.open();
    assert.equal(await place.text('fs/readFile', { path: place.uri('nope') }), 'No such file or directory (os error 2)');
  });
});

describe('a path', () => {
  guardAgainstLeaks();

  test('is a file: URI of this machine', async () => {
    await using place = await Place.open();
    const good = place.uri('file.txt');
    const uris = [
      good.replace('file://', 'file://localhost'),
      good.replace('/file.txt', '/dir/../file.txt'),
      `${good}/`,
      place.at('file.txt'),
      'file.txt',
      good.replace('file:', 'http:'),
      good.replace('file://', 'file://host'),
      'file:///C:/x',
      `${good}?x`,
    ];
    const answers = [];
    for (const path of uris) answers.push(await place.ask('fs/readFile', { path }));
    const read = { dataBase64: hello };
    assert.deepEqual(answers, [read, read, read, invalid, invalid, invalid, refused, refused, invalid]);
  });
});

describe('a description', () => {
  guardAgainstLeaks();

  test('is about the target of a link, and says that there is a link', async () => {
    await using place = await Place.open();
    const kinds = (await place.each('fs/getMetadata', ['file.txt', 'dir', 'dir/', 'link', 'linkdir', 'fifo'])).map((answer) => {
      const { isDirectory, isFile, isSymlink } = answer as Record<string, boolean>;
      return Object.entries({ isDirectory, isFile, isSymlink }).flatMap(([name, is]) => (is === true ? [name] : []));
    });
    assert.deepEqual(kinds, [
      ['isFile'],
      ['isDirectory'],
      ['isDirectory'],
      ['isFile', 'isSymlink'],
      ['isDirectory', 'isSymlink'],
      [],
    ]);
    assert.deepEqual(await place.each('fs/getMetadata', ['broken', 'nope', 'file.txt/below']), [absent, absent, failed]);
    assert.deepEqual(await place.each('fs/getMetadata', ['link'], { followSymlinks: false }), [refused]);
  });

  test('has the size, and the times in whole milliseconds', async () => {
    await using place = await Place.open();
    const [answer] = await place.each('fs/getMetadata', ['file.txt']);
    const { size, modifiedAtMs } = answer as Record<string, number>;
    assert.deepEqual([size, modifiedAtMs], [6, Math.trunc(statSync(place.at('file.txt')).mtimeMs)]);
  });

  test('of the real path needs every part of it', async () => {
    await using place = await Place.open();
    assert.deepEqual(await place.each('fs/canonicalize', ['linkdir/lsub', 'nope']), [{ path: 'file:///R/dir/sub' }, absent]);
  });
});

describe('a folder', () => {
  guardAgainstLeaks();

  test('is made with its parents unless only one is wanted', async () => {
    await using place = await Place.open();
    assert.deepEqual(await place.each('fs/createDirectory', ['new/a/b', 'new/a/b', 'file.txt']), [{}, {}, failed]);
    assert.deepEqual(await place.each('fs/createDirectory', ['new', 'x/y', 'z'], { recursive: false }), [failed, absent, {}]);
  });

  test('lists what its entries lead to, without links that lead nowhere', async () => {
    await using place = await Place.open();
    const answer = (await place.ask('fs/readDirectory', { path: place.uri('dir') })) as { entries: { fileName: string }[] };
    assert.deepEqual(
      answer.entries.toSorted((one, other) => (one.fileName < other.fileName ? -1 : 1)),
      [
        { fileName: 'fifo', isDirectory: false, isFile: false },
        { fileName: 'lone', isDirectory: false, isFile: true },
        { fileName: 'lsub', isDirectory: true, isFile: false },
        { fileName: 'one.txt', isDirectory: false, isFile: true },
        { fileName: 'sub', isDirectory: true, isFile: false },
      ],
    );
    assert.deepEqual(await place.each('fs/readDirectory', ['nope', 'file.txt']), [absent, failed]);
  });

  test('is walked breadth first within limits', async () => {
    await using place = await Place.open();
    const wide = { maxDepth: 6, maxDirectories: 2_000, maxEntries: 20_000, followDirectorySymlinks: true };
    const walk = async (name: string, change: object = {}) => {
      const answer = await place.ask('fs/walk', { path: place.uri(name), options: { ...wide, ...change } });
      if (typeof answer === 'number') return answer;
      const { entries, truncated } = answer as { entries: { path: string }[]; truncated: boolean };
      return [...entries.map(({ path }) => path.replace(`file:///R/${name}/`, '')), ...(truncated ? ['…'] : [])];
    };
    assert.deepEqual(await walk('dir'), ['lsub', 'one.txt', 'sub', 'lsub/two.txt']);
    assert.deepEqual(await walk('dir', { followDirectorySymlinks: false }), ['one.txt', 'sub', 'sub/two.txt']);
    assert.deepEqual(await walk('full', { maxDepth: 1 }), ['a', 'a/b']);
    assert.deepEqual(await walk('full', { maxEntries: 1 }), ['a', '…']);
    assert.deepEqual(await walk('full', { maxDirectories: 1 }), ['a', '…']);
    assert.deepEqual([await walk('file.txt'), await walk('nope')], [[], absent]);
    assert.deepEqual([await walk('full', { maxDepth: 65 }), await walk('full', { maxEntries: 0 })], [refused, refused]);
  });

  test('is removed with its contents unless it must be empty; a link is removed, not its target', async () => {
    await using place = await Place.open();
    assert.deepEqual(await place.each('fs/remove', ['linkdir', 'full', 'nope']), [{}, {}, {}]);
    assert.equal(statSync(place.at('dir')).isDirectory(), true);
    const careful = { recursive: false, force: false };
    assert.deepEqual(await place.each('fs/remove', ['dir', 'nope', 'file.txt'], careful), [failed, absent, {}]);
    assert.deepEqual(await place.each('fs/remove', ['link'], { ...careful, followSymlinks: false }), [refused]);
    assert.deepEqual(await place.each('fs/remove', ['dir'], { followSymlinks: false }), [failed]);
  });

  test('is copied only if asked for, and never into itself', async () => {
    await using place = await Place.open();
    const copy = async (from: string, to: string, recursive = true) =>
      place.ask('fs/copy', { sourcePath: place.uri(from), destinationPath: place.uri(to), recursive });
    assert.deepEqual(
      [await copy('dir', 'd2', false), await copy('dir', 'dir/sub/x'), await copy('dir', 'new/way/d2')],
      [refused, refused, {}],
    );
    assert.equal(readFileSync(place.at('new/way/d2/sub/two.txt'), 'utf8'), '22');
    assert.deepEqual([await copy('file.txt', 'sp é%'), await copy('link', 'l2'), await copy('fifo', 'f2')], [{}, {}, refused]);
    assert.equal(readlinkSync(place.at('l2')), 'file.txt');
    assert.deepEqual([await copy('nope', 'x'), await copy('file.txt', 'no/parent')], [absent, absent]);
  });

  test('cannot be copied onto the file that is copied, which stays as it is', async () => {
    await using place = await Place.open();
    const [sourcePath, destinationPath] = [place.uri('file.txt'), place.uri('link')];
    assert.equal(await place.ask('fs/copy', { sourcePath, destinationPath, recursive: false }), refused);
    assert.equal(readFileSync(place.at('file.txt'), 'utf8'), 'hello\n');
  });
});

describe('a handle', () => {
  guardAgainstLeaks();

  test('reads blocks; only the end of the file makes one shorter', async () => {
    await using place = await Place.open();
    const open = await place.ask('fs/open', { handleId: 'h', path: place.uri('file.txt') });
    assert.deepEqual(open, { handleId: 'h' });
    const answers = [];
    for (const [offset, len] of [
      [0, 100],
      [0, 6],
      [2, 2],
      [9, 5],
      [0, 0],
      [0, 1_048_577],
    ]) {
      answers.push(await place.ask('fs/readBlock', { handleId: 'h', offset, len }));
    }
    assert.deepEqual(answers, [
      { chunk: hello, eof: true },
      { chunk: hello, eof: false },
      { chunk: 'bGw=', eof: false },
      { chunk: '', eof: true },
      refused,
      refused,
    ]);
    assert.equal(await place.ask('fs/writeBlock', { handleId: 'h', offset: 0, chunk: 'eA==' }), failed);
    assert.deepEqual(await place.ask('fs/close', { handleId: 'h' }), {});
    assert.equal(await place.ask('fs/readBlock', { handleId: 'h', offset: 0, len: 1 }), absent);
    assert.deepEqual(await place.ask('fs/close', { handleId: 'h' }), {});
  });

  test('to replace a file empties it at once and writes anywhere', async () => {
    await using place = await Place.open();
    assert.deepEqual(await place.ask('fs/open', { handleId: 'w', path: place.uri('file.txt'), mode: 'replace' }), {
      handleId: 'w',
    });
    assert.equal(statSync(place.at('file.txt')).size, 0);
    assert.deepEqual(await place.ask('fs/writeBlock', { handleId: 'w', offset: 3, chunk: 'ZGVm' }), {});
    assert.deepEqual(await place.ask('fs/writeBlock', { handleId: 'w', offset: 0, chunk: 'YWJj' }), {});
    assert.equal(await place.ask('fs/writeBlock', { handleId: 'w', offset: 0, chunk: '' }), refused);
    assert.equal(readFileSync(place.at('file.txt'), 'utf8'), 'abcdef');
    assert.equal(await place.ask('fs/readBlock', { handleId: 'w', offset: 0, len: 1 }), failed);
    assert.equal(await place.ask('fs/writeBlock', { handleId: 'w', offset: 0, chunk: 'eA==' }), absent); // the failed read closed it
  });

  test('has an id that is free and short, and there are at most 128', async () => {
    await using place = await Place.open();
    const open = async (handleId: string, name = 'file.txt') => place.ask('fs/open', { handleId, path: place.uri(name) });
    assert.deepEqual(
      [await open('x'.repeat(32)), await open('x'.repeat(32)), await open('é'.repeat(17))],
      [{ handleId: 'x'.repeat(32) }, refused, refused],
    );
    assert.deepEqual([await open('a', 'dir'), await open('a', 'fifo'), await open('a', 'nope')], [refused, refused, absent]);
    const answers = await Promise.all(Array.from({ length: 130 }, (_, at) => open(`n${at}`)));
    assert.equal(answers.filter((answer) => answer === refused).length, 3);
    assert.deepEqual(await place.ask('fs/close', { handleId: 'n0' }), {});
    assert.deepEqual(await open('n0'), { handleId: 'n0' });
  });

  test('is closed when its client goes, even if it was still being opened', async () => {
    await using server = await SluiceServer.start('websocket');
    const folder = mkdtempSync(join(tmpdir(), 'sluice-codex-files-'));
    writeFileSync(join(folder, 'held'), '');
    const path = pathToFileURL(join(folder, 'held')).href;
    const held = () => execFileSync('ls', ['-l', `/proc/${server.child.pid}/fd`], { encoding: 'utf8' }).split(folder).length - 1;
    {
      await using peer = await overWebSocket(server.url);
      await peer.greet({ resumeSessionId: null });
      await Promise.all(Array.from({ length: 64 }, async (_, at) => peer.request('fs/open', { handleId: `${at}`, path })));
      assert.equal(held(), 64);
      for (let at = 64; at < 128; at += 1)
        peer.send(JSON.stringify({ id: `late${at}`, method: 'fs/open', params: { handleId: `${at}`, path } }));
    }
    await eventually(() => assert.equal(held(), 0));
    assert.ok(descriptorCount(server.child.pid) > 0);
    rmSync(folder, { recursive: true });
  });
});

describe('a watch for missing files', () => {
  guardAgainstLeaks();

  test('fires once when one of them appears', async () => {
    await using peer = await overStdio();
    await peer.greet();
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-codex-files-')));
    const uri = (name: string) => pathToFileURL(join(folder, name)).href;
    const watch = async (watchId: number, missing: readonly string[], present: string | null = null) =>
      resultOf(await peer.request('fs/watchMissing', { watchId, missing: missing.map(uri), present }));
    assert.deepEqual(await watch(1, ['a', 'deep/er/b']), { watching: true });
    assert.deepEqual(await watch(1, ['c']), { watching: false });
    assert.deepEqual(await watch(2, [], uri('gone')), { watching: false });
    mkdirSync(join(folder, 'deep/er'), { recursive: true });
    writeFileSync(join(folder, 'deep/er/b'), '');
    const fired = await peer.find(({ method }) => method === 'fs/missingChanged', 'fs/missingChanged');
    assert.deepEqual(fired['params'], { watchId: 1 });
    assert.deepEqual(await watch(3, ['deep/er/b']), { watching: false });
    assert.deepEqual(await watch(1, ['c']), { watching: true }); // the id is free again
    rmSync(folder, { recursive: true });
  });
});

describe('a server that serves no files', () => {
  guardAgainstLeaks();

  test('refuses every call about them in words, and announces none', async () => {
    await using peer = await overStdio(['--no-files']);
    const { environmentInfo } = resultOf(await peer.greet());
    assert.deepEqual((environmentInfo as { capabilities: object }).capabilities, { httpHeaderEnvVars: true });
    const { code, message } = errorOf(await peer.request('fs/readFile', { path: 'file:///etc/passwd' }));
    assert.deepEqual([code, message], [refused, 'this server does not serve files']);
  });
});
