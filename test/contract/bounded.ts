// Promise 3: bounded.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Page, isExecError } from '#src/protocol/index.js';
import { eventually, settled } from '../support/eventually.js';
import { type Connector, bothKinds, env, openPipe, shell } from './connector.js';

const kib = 1024;
const mib = 1024 * kib;

export function bounded(connector: Connector): void {
  describe('bounded', () => {
    for (const [kind, io] of bothKinds) {
      test(`a process whose output is not read is blocked on ${kind}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell('yes'), io });
        const written = async () => (await client.list())[0]?.outputBytes ?? 0;
        await eventually(async () => assert.ok((await written()) >= 256 * kib));
        const held = await settled(written);
        // The window, plus the reads in progress when it filled up.
        assert.ok(held <= 256 * kib + 128 * kib, `${held} bytes`);
        for await (const _ of child.output) break;
        await eventually(async () => assert.equal((await client.list())[0]?.state, 'running'));
      });
    }

    for (const [kind, io] of bothKinds) {
      test(`a process whose output is not read closes when terminated on ${kind}, even if others hold its output`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell('setsid yes & setsid yes & exec sleep 60'), io });
        await eventually(async () => assert.ok(((await client.list())[0]?.outputBytes ?? 0) >= 256 * kib));
        await child.terminate({ forceAfterMs: 0 });
        assert.equal((await child.closed).reason, 'terminated');
      });
    }

    test('only the beginning and the end of a long output are kept, and the missing bytes are counted', async () => {
      await using client = await connector.connect();
      const lines = 400_000;
      await using child = await client.start({ ...shell(`seq 1 ${lines}`), env });
      let totalBytes = 0;
      for await (const { bytes } of child.output) totalBytes += bytes.length;
      const { streams } = await child.snapshot();
      const { head, tail, truncated, droppedBytes } = streams.stdout ?? assert.fail('no stdout');
      assert.equal(truncated, true);
      assert.equal(head.length + tail.length + droppedBytes, totalBytes);
      assert.ok(head.length >= 64 * kib && head.length + tail.length <= mib);
      assert.ok(text(head).startsWith('1\n2\n3\n'));
      assert.ok(text(tail).endsWith(`\n${lines}\n`));
      const [status] = await client.list();
      assert.equal(status?.outputBytes, totalBytes);
    });

    test('forget removes an ended process early, but not a running one', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ ...shell('read -r line; echo "$line"'), io: openPipe, id: 'x' });
      await assert.rejects(child.forget(), (error) => isExecError(error, 'processNotClosed'));
      await child.write('late\n');
      await child.closed;
      assert.equal(await child.forget(), true);
      assert.equal(await child.forget(), false);
      assert.deepEqual(await client.list(), []);
      await assert.rejects(child.read(), (error) => isExecError(error, 'processNotFound'));
      const pieces: Uint8Array[] = [];
      for await (const { bytes } of child.output) pieces.push(bytes); // its reader started before
      assert.equal(text(Buffer.concat(pieces)), 'late\n');
      await using again = await client.start({ ...shell('exit 7'), id: 'x' });
      const { kind, reason } = await again.closed;
      assert.deepEqual([kind, reason], ['code', 'exited']);
    });

    test('a short output is kept whole and not truncated', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('echo hello'));
      for await (const _ of child.output);
      const { streams } = await child.snapshot();
      const { head, tail, truncated, droppedBytes } = streams.stdout ?? assert.fail('no stdout');
      assert.deepEqual([text(head) + text(tail), truncated, droppedBytes], ['hello\n', false, 0]);
    });

    test('a read without maxBytes spans the gap and reaches the end; with it, only the last page reports the end', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('seq 1 400000; exit 3'));
      let [totalBytes, events] = [0, 2]; // exited and closed
      for await (const { bytes } of child.output) [totalBytes, events] = [totalBytes + bytes.length, events + 1];
      await child.closed;
      const whole = await child.read({ afterSeq: 1 });
      const [first] = (await child.read({ maxBytes: 0 })).chunks;
      assert.deepEqual(
        [(first?.chunk.length ?? 0) + bytesOf(whole) + whole.droppedBytes, whole.nextSeq, whole.nextBytes],
        [totalBytes, events + 1, totalBytes],
      );
      assert.deepEqual([whole.exited, whole.exitCode, whole.closed], [true, 3, true]);
      assert.ok(whole.droppedBytes > 0);
      const jumps = whole.chunks.filter(({ seq }, at) => seq !== (whole.chunks[at - 1]?.seq ?? 1) + 1);
      assert.deepEqual(
        jumps.map(({ seq, droppedBytes }) => [seq, droppedBytes]),
        [[whole.firstSeq, whole.droppedBytes]],
      );
      const pages = [await child.read({ maxBytes: 100_000 })];
      for (let last = pages[0]; last !== undefined && !last.exited; last = pages.at(-1)) {
        assert.deepEqual([last.exitCode, last.closed], [null, false]);
        pages.push(await child.read({ afterSeq: last.nextSeq - 1, afterBytes: last.nextBytes, maxBytes: 100_000 }));
      }
      assert.ok(pages.length > 5);
      assert.equal(pages.at(-1)?.closed, true);
      assert.equal(
        pages.reduce((sum, page) => sum + bytesOf(page) + page.droppedBytes, 0),
        totalBytes,
      );
    });

    test('retention is limited in entries as well as in bytes', async () => {
      await using client = await connector.connect({ limits: { retainedEntries: 10, headBytes: 0 } });
      const script = 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo $i; read -r _; done';
      await using child = await client.start({ ...shell(script), io: openPipe });
      let chunks = 0;
      for await (const _ of child.output) {
        chunks += 1;
        await child.write('\n');
      }
      assert.equal(chunks, 30);
      const { streams } = await child.snapshot();
      assert.equal(text(streams.stdout?.tail ?? assert.fail('no stdout')).split('\n').length - 1 <= 10, true);
      assert.ok((streams.stdout?.droppedBytes ?? 0) > 0);
    });

    test('a write beyond the cap is refused at once with the free space', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ ...shell('sleep 60'), io: openPipe });
      const piece = new Uint8Array(mib);
      const answers = Array.from({ length: 16 }, async () => child.write(piece));
      const refused = await child.write(piece).catch((error: unknown) => error);
      assert.ok(isExecError(refused, 'stdinFull'), String(refused));
      const { offeredBytes, queuedBytes, freeBytes } = refused.data;
      assert.deepEqual([offeredBytes, queuedBytes + freeBytes], [mib, 16 * mib]);
      await child.terminate({ forceAfterMs: 0 });
      await child.closed;
      const statuses = await Promise.all(answers);
      assert.deepEqual([statuses[0], statuses.at(-1)], ['accepted', 'stdinClosed']);
    });

    test('a line longer than the limit is split into marked pieces', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell(`head -c 2500 /dev/zero | tr '\\0' x; echo; echo short`));
      const seen: [number, string][] = [];
      for await (const { text: line, ending } of child.lines({ maxLineBytes: 1_000 })) seen.push([line.length, ending]);
      assert.deepEqual(seen, [
        [1_000, 'cut'],
        [1_000, 'cut'],
        [500, 'newline'],
        [5, 'newline'],
      ]);
    });

    test('a session runs no more processes than its limit', async () => {
      await using client = await connector.connect({ limits: { maxProcesses: 2 } });
      await using first = await client.start(shell('sleep 60'));
      await using _second = await client.start(shell('sleep 60'));
      const refused = await client.start(shell('true')).catch((error: unknown) => error);
      assert.ok(isExecError(refused, 'tooManyProcesses'), String(refused));
      await first.terminate({ forceAfterMs: 0 });
      await first.closed;
      await using _third = await client.start(shell('true'));
    });

    test('an ended process stays readable for a while and is then forgotten', async () => {
      await using client = await connector.connect({ limits: { keepClosedMs: 300 } });
      await using child = await client.start(shell('echo kept'));
      await child.closed;
      assert.equal(text((await child.snapshot()).streams.stdout?.head ?? new Uint8Array()), 'kept\n');
      const error = await eventually(async () => {
        const outcome = await child.snapshot().catch((thrown: unknown) => thrown);
        assert.ok(isExecError(outcome, 'processNotFound'));
        return outcome;
      });
      assert.deepEqual(error.data, { processId: child.id });
      assert.deepEqual(await client.list(), []);
    });

    test('a handle reports how its process ended even if the server has forgotten it', async () => {
      await using client = await connector.connect({ limits: { keepClosedMs: 0 } });
      await using child = await client.start(shell('echo kept; exit 3'));
      await eventually(async () => assert.deepEqual(await client.list(), []));
      const ending = await child.exit;
      assert.deepEqual([ending.kind === 'code' && ending.code, await child.closed], [3, ending]);
      for await (const { bytes } of child.output) assert.equal(text(bytes), 'kept\n');
    });

    test('ended processes are kept up to a limit, and the oldest are forgotten first', async () => {
      await using client = await connector.connect({ limits: { maxClosed: 3 } });
      for (const id of ['a', 'b', 'c', 'd', 'e']) {
        await using child = await client.start({ ...shell('true'), id });
        await child.closed;
      }
      assert.deepEqual(
        (await client.list()).map(({ processId }) => processId),
        ['c', 'd', 'e'],
      );
    });

    test('the total output of ended processes is limited', async () => {
      await using client = await connector.connect({ limits: { maxClosedBytes: 250_000 } });
      for (const id of ['a', 'b', 'c']) {
        await using child = await client.start({ ...shell('head -c 100000 /dev/zero'), id });
        for await (const _ of child.output);
        await child.closed;
      }
      assert.deepEqual(
        (await client.list()).map(({ processId }) => processId),
        ['b', 'c'],
      );
    });

    test('output that is read after the end of its process no longer counts', async () => {
      const limits = { retainedBytes: 10_000, headBytes: 0, maxClosed: 1, maxClosedBytes: 150_000 };
      await using client = await connector.connect({ limits });
      for (const id of ['a', 'b', 'c']) {
        await using child = await client.start({ ...shell('head -c 100000 /dev/zero'), id });
        await child.closed; // all of it is unread and therefore retained
        assert.deepEqual(
          (await client.list()).map(({ processId }) => processId),
          [id],
        );
        for await (const _ of child.output);
      }
    });

    test('other retained data of ended processes counts like their output', async () => {
      await using client = await connector.connect({ limits: { maxClosedBytes: 100_000 } });
      const metadata = { notes: 'n'.repeat(20_000) };
      for (const id of ['a', 'b', 'c']) {
        await using child = await client.start({ argv: ['true', 'x'.repeat(20_000)], env, id, metadata });
        await child.closed;
      }
      assert.deepEqual(
        (await client.list()).map(({ processId }) => processId),
        ['b', 'c'],
      );
    });

    test('each small piece of output counts more than its bytes', async () => {
      await using client = await connector.connect({ limits: { maxClosedBytes: 50_000, headBytes: 0 } });
      for (const id of ['a', 'b']) {
        await using child = await client.start({ argv: ['cat'], env, id, io: openPipe });
        const echoes = child.output[Symbol.asyncIterator]();
        for (let piece = 0; piece < 150; piece += 1) {
          await child.write('.');
          await echoes.next();
        }
        await child.closeStdin();
        await child.closed;
      }
      assert.deepEqual(
        (await client.list()).map(({ processId }) => processId),
        ['b'],
      );
    });

    for (const [member, size, options] of [
      // Each string counts 9 bytes more, for its NUL and the pointer to it.
      ['argv', 9 + 9 + 12 + 9, { argv: ['/bin/true', 'x'.repeat(12)] }],
      ['env', 1 + 9 + 20 + 9, { env: { X: 'x'.repeat(20) } }],
      ['metadata', 29 + 9, { metadata: { notes: 'n'.repeat(17) } }],
    ] as const) {
      test(`${member} beyond its limit is refused, and the error names both sizes`, async () => {
        const start = async (allowed: number) => {
          const limit = `max${member[0]?.toUpperCase()}${member.slice(1)}Bytes`;
          await using client = await connector.connect({ limits: { [limit]: allowed } });
          await using child = await client.start({ argv: ['/bin/true'], envPolicy: { inherit: 'none' }, ...options });
          await child.exit;
        };
        await start(size);
        await assert.rejects(start(size - 1), (error) => {
          assert.ok(isExecError(error, 'invalidParams'), String(error));
          assert.equal(error.message, `${member} must be at most ${size - 1} bytes, got ${size}`);
          return true;
        });
      });
    }

    test('the total size of running processes’ requests is limited, and an ended process frees its share', async () => {
      await using client = await connector.connect({ limits: { maxRequestBytes: 50_000 } });
      const metadata = { notes: 'n'.repeat(30_000) };
      const options = { argv: ['cat'], env, io: openPipe, metadata };
      await using first = await client.start(options);
      await assert.rejects(
        client.start(options),
        /argv, metadata and kept environments of all running processes together must be at most 50000 bytes/,
      );
      const kept = { argv: ['cat'], env: { ...env, LARGE: 'e'.repeat(30_000) }, io: openPipe };
      await using _unkept = await client.start(kept);
      await assert.rejects(client.start({ ...kept, restartable: true }), /kept environments .* must be at most 50000 bytes/);
      await first.closeStdin();
      await first.closed;
      await using second = await client.start(options);
      assert.deepEqual((await client.list()).find(({ processId }) => processId === second.id)?.metadata, metadata);
    });
  });
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

function bytesOf({ chunks }: Page): number {
  return chunks.reduce((sum, { chunk }) => sum + chunk.length, 0);
}
