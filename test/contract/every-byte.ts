// Promise 1: every byte, in order, once.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ProcessHandle } from '#src/client/index.js';
import { isExecError } from '#src/protocol/index.js';
import { settled } from '../support/eventually.js';
import { type Connector, bothKinds, closedPipe, env, shell, terminal } from './connector.js';

/** Enough runs to detect a loss in one of ten; `npm run completeness` does 500 of each. */
const runsPerSize = 20;

export function everyByte(connector: Connector): void {
  describe('every byte, in order, once', () => {
    let folder: string;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    });
    after(() => rmSync(folder, { recursive: true }));

    /** A file whose bytes vary with their position and have no meaning for a terminal. */
    function patternFile(length: number): { path: string; bytes: Buffer } {
      const bytes = Buffer.alloc(length);
      for (let at = 0; at < length; at += 1) bytes[at] = 0x21 + ((at * 7 + (at >> 8)) % 93);
      const path = join(folder, `pattern-${length}`);
      writeFileSync(path, bytes);
      return { path, bytes };
    }

    for (const [kind, io] of bothKinds) {
      for (const length of [1, 20 * 1024, 200_000, 5_000_000]) {
        test(`${length} bytes from a program that exits at once arrive completely on ${kind}`, async () => {
          await using client = await connector.connect();
          const { path, bytes } = patternFile(length);
          for (let run = 0; run < (length > 1_000_000 ? 5 : runsPerSize); run += 1) {
            await using child = await client.start({ argv: ['cat', path], cwd: '/', env, io });
            const { output, seqs } = await readAll(child);
            assert.equal(output.equals(bytes), true, `run ${run}: ${output.length} of ${bytes.length} bytes`);
            assert.deepEqual(
              seqs,
              Array.from(seqs, (_, index) => index + 1),
            );
            const { kind: how, outputComplete } = await child.exit;
            assert.deepEqual({ how, outputComplete }, { how: 'code', outputComplete: true });
          }
        });
      }

      test(`output that was not read before the exit is complete afterwards on ${kind}`, async () => {
        await using client = await connector.connect();
        const { path, bytes } = patternFile(200_000);
        await using child = await client.start({ argv: ['cat', path], cwd: '/', env, io });
        await child.exit;
        const { output } = await readAll(child);
        assert.equal(output.equals(bytes), true);
      });

      test(`a reader that pauses until the process is blocked loses nothing on ${kind}`, async () => {
        await using client = await connector.connect();
        const { path, bytes } = patternFile(5_000_000);
        await using child = await client.start({ argv: ['cat', path], cwd: '/', env, io });
        await settled(async () => (await client.list())[0]?.outputBytes);
        const { output } = await readAll(child);
        assert.equal(output.equals(bytes), true);
      });
    }

    test('all 256 byte values pass unchanged through pipes', async () => {
      await using client = await connector.connect();
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
      const { stdout } = await client.run(['cat'], { cwd: '/', env, input: bytes });
      assert.deepEqual(Buffer.from(stdout.bytes), bytes);
    });

    test('all 256 byte values pass unchanged through a raw terminal', async () => {
      await using client = await connector.connect();
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
      const path = join(folder, 'all-bytes');
      writeFileSync(path, bytes);
      await using child = await client.start({ ...shell(`stty raw; cat ${path}`), io: terminal });
      assert.deepEqual((await readAll(child)).output, bytes);
    });

    test('stdout and stderr are kept apart', async () => {
      await using client = await connector.connect();
      const result = await client.run(['sh', '-c', 'echo out; echo err >&2'], { cwd: '/', env });
      assert.deepEqual([result.stdout.text, result.stderr.text], ['out\n', 'err\n']);
    });

    if (connector.backend === 'linux') {
      // child_process uses sockets, which cannot be reopened through /dev.
      test('the streams can be reopened by name', async () => {
        await using client = await connector.connect();
        const { stdout } = await client.run(['sh', '-c', 'echo again > /dev/stdout'], { cwd: '/', env });
        assert.equal(stdout.text, 'again\n');
      });
    }

    test('a character split over two chunks is whole in a line', async () => {
      await using client = await connector.connect();
      await using child = await client.start({
        ...shell(`printf 'a\\342\\202'; read -r _; printf '\\254b\\n'`),
        io: { kind: 'pipe', stdin: 'open' },
      });
      const lines = child.lines();
      const first = lines.next();
      await settled(async () => (await client.list())[0]?.outputBytes);
      await child.write('\n');
      assert.deepEqual((await first).value, { stream: 'stdout', text: 'a€b', ending: 'newline' });
    });

    for (const settings of [
      'olcuc',
      '-opost',
      'olcuc onlcr ocrnl onocr onlret tab3',
      'ocrnl onlret -onlcr',
      'raw',
      'tostop -echo',
    ]) {
      test(`the end of a terminal’s output is detected whatever its settings do to the output: stty ${settings}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell(`stty ${settings}; printf 'last Words 12'`), io: terminal });
        const output = await outputOf(child);
        const { outputComplete } = await child.exit;
        assert.deepEqual([output, outputComplete], [settings.includes('olcuc') ? 'LAST WORDS 12' : 'last Words 12', true]);
      });
    }

    test('closing stdin ends the input of a terminal with its configured end-of-file character', async () => {
      await using client = await connector.connect();
      for (const [settings, typed] of [
        ['eof ^X', 'with \u0004 in it'],
        ['eof undef', 'a line\n'],
        ['eol x', 'ax'],
      ] as const) {
        await using child = await client.start({
          ...shell(`stty ${settings} -echo; echo up; cat; echo over`),
          io: terminal,
          timeoutMs: 20_000,
        });
        await child.collectUntil({ deadlineMs: 20_000, text: 'up\r\n' });
        await child.write(typed);
        await child.closeStdin();
        assert.equal(await outputOf(child), `${typed.replace('\n', '\r\n')}over\r\n`, settings);
      }
    });

    test('a line of any length reaches a program on a terminal completely', async () => {
      await using client = await connector.connect();
      for (const settings of ['-echo', '-echo eof ^X', '-echo raw']) {
        const text = Buffer.alloc(100_000, 'a line without an end, ').toString();
        const script = `stty ${settings}; echo up; head -c 100000 | cksum`;
        await using child = await client.start({ ...shell(script), io: terminal, timeoutMs: 20_000 });
        await child.collectUntil({ deadlineMs: 20_000, text: 'up' });
        await child.write(text);
        await child.closeStdin();
        const { stdout } = await client.run(['cksum'], { env, input: text });
        assert.equal((await outputOf(child)).trim(), stdout.text.trim(), settings);
      }
    });

    test('a process that closes its own terminal keeps running, and its exit code is reported', async () => {
      await using client = await connector.connect();
      await using child = await client.start({
        ...shell('echo before; exec </dev/null >/dev/null 2>&1; sleep 0.2; exit 5'),
        io: terminal,
      });
      assert.equal((await readAll(child)).output.toString(), 'before\r\n');
      const ending = await child.exit;
      assert.equal(ending.kind === 'code' && ending.code, 5);
    });

    test('a terminal stopped with Ctrl-S does not hide the end of its output', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ ...shell('echo one; sleep 30; echo two'), io: terminal });
      await child.collectUntil({ deadlineMs: 20_000, text: 'one' });
      await child.write('\u0013'); // Ctrl-S
      await child.signal('SIGKILL');
      const ending = await child.closed;
      assert.deepEqual([ending.kind, ending.outputComplete], ['signal', true]);
    });

    test('output arrives under any valid process id', async () => {
      await using client = await connector.connect();
      for (const id of ['\ufeffmark', 'a\0b', '\u{1f4a5}', '__proto__', '€'.repeat(256), '']) {
        await using child = await client.start({ ...shell('printf here'), id });
        assert.equal((await readAll(child)).output.toString(), 'here', JSON.stringify(id));
      }
    });

    test('a process id that not every connection can carry is refused', async () => {
      await using client = await connector.connect();
      for (const id of ['\ud800', 'a\udc00b', '\udc00\ud800', 'x'.repeat(257)]) {
        await assert.rejects(client.start({ ...shell('true'), id }), (error) => isExecError(error, 'invalidParams'));
      }
      assert.deepEqual(await client.list(), []);
    });

    test('a chunk is at most 64 KiB', async () => {
      await using client = await connector.connect();
      const { path } = patternFile(5_000_000);
      await using child = await client.start({ argv: ['cat', path], cwd: '/', env, io: closedPipe });
      for await (const { bytes } of child.output) assert.ok(bytes.length > 0 && bytes.length <= 65_536);
    });
  });
}

async function readAll(child: ProcessHandle): Promise<{ output: Buffer; seqs: number[] }> {
  const parts: Uint8Array[] = [];
  const seqs: number[] = [];
  for await (const { seq, bytes } of child.output) {
    parts.push(bytes);
    seqs.push(seq);
  }
  return { output: Buffer.concat(parts), seqs };
}

async function outputOf(child: ProcessHandle): Promise<string> {
  return (await readAll(child)).output.toString('latin1');
}
