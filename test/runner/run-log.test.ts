// Reading the log of a run: lines of every length, and logs whose writer is gone.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, mock, test } from 'node:test';
import { type LogLine, type RunHeader, readRun, summarizeRuns } from '#src/runner/index.js';
import { type RunWriter, isGone, thisWriter } from '#src/runner/run-writer.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

describe('the log of a run', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  });
  after(() => rmSync(folder, { recursive: true }));
  guardAgainstLeaks();

  const header = (runId: string, writer?: RunWriter): RunHeader => ({
    ...{ type: 'run', runId, adapter: 'jsonl', cwd: '/', at: 1 },
    ...(writer === undefined ? {} : { writer }),
  });
  const text = (content: string): LogLine => ({ type: 'text', text: content, seq: 1, at: 1, turn: 1 });
  const end: LogLine = { type: 'ended', outcome: { kind: 'completed' }, seq: 2, at: 1, turn: 1 };
  const write = (runId: string, lines: readonly LogLine[]): string => {
    const file = join(folder, `${runId}.jsonl`);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return file;
  };

  test('moves each byte of a long line a fixed number of times', async () => {
    const lines = [header('long'), text('x'.repeat(8_000_000)), end];
    const file = write('long', lines);
    const [concat, set] = [mock.method(Buffer, 'concat'), mock.method(Uint8Array.prototype, 'set')];
    try {
      assert.deepEqual(await read(file), lines);
    } finally {
      concat.mock.restore();
      set.mock.restore();
    }
    const moved = [
      ...concat.mock.calls.map(({ result }) => result?.length ?? 0),
      ...set.mock.calls.map(({ arguments: [piece] }) => piece.length),
    ];
    const movedBytes = moved.reduce((sum, bytes) => sum + bytes, 0);
    assert.ok(movedBytes > 0 && movedBytes < 2 * 8_000_000, `${movedBytes} bytes were moved`);
  });

  test('skips a line that was torn by a crash, and keeps characters whole', async () => {
    const lines = [header('torn'), text('ü'.repeat(100_000)), end];
    const file = write('torn', lines);
    writeFileSync(file, readFileSync(file, 'utf8').replace('\n', '\n{"type":"text","at":1,"te\n'));
    assert.deepEqual(await read(file), lines);
  });

  test('ends for a follower when its writer is gone, after everything that the writer wrote', async () => {
    const writer = await writerThatHasEnded();
    const lines = [header('crashed', writer), text('last words')];
    assert.deepEqual(await read(write('crashed', lines), { follow: true }), lines);
  });

  test('continues for a follower while its writer is alive', async () => {
    const file = write('alive', [header('alive', thisWriter())]);
    const seen: LogLine[] = [];
    for await (const line of readRun(file, { follow: true })) {
      seen.push(line);
      if (line.type === 'run') writeFileSync(file, `${JSON.stringify(end)}\n`, { flag: 'a' });
    }
    assert.deepEqual(seen, [header('alive', thisWriter()), end]);
  });

  test('distinguishes a run that crashed from one that is still running', async () => {
    const states = mkdtempSync(join(tmpdir(), 'sluice-'));
    try {
      const add = (line: RunHeader) => writeFileSync(join(states, `${line.runId}.jsonl`), `${JSON.stringify(line)}\n`);
      add(header('1-crashed', await writerThatHasEnded()));
      add(header('2-running', thisWriter()));
      add(header('3-unknown'));
      assert.deepEqual(
        (await summarizeRuns(states)).map(({ runId, hasCrashed }) => [runId, hasCrashed]),
        [
          ['1-crashed', true],
          ['2-running', false],
          ['3-unknown', false],
        ],
      );
    } finally {
      rmSync(states, { recursive: true });
    }
  });
});

describe('the writer of a log', () => {
  guardAgainstLeaks();

  test('is gone when its process is, and not before', async () => {
    assert.equal(isGone(thisWriter()), false);
    assert.equal(isGone(await writerThatHasEnded()), true);
  });

  test('is gone when its pid belongs to another process, or its machine was rebooted', () => {
    assert.equal(isGone({ ...thisWriter(), birth: 'another' }), true);
    assert.equal(isGone({ ...thisWriter(), boot: 'earlier' }), true);
  });

  test('is not called gone where its pid means nothing', async () => {
    const writer = await writerThatHasEnded();
    assert.equal(isGone({ ...writer, host: 'elsewhere' }), false);
    assert.equal(isGone({ ...writer, pidNamespace: 'of a container' }), false);
  });

  test('is gone without /proc if no process has its pid', async () => {
    const plain = ({ pid, host }: RunWriter): RunWriter => ({
      pid,
      host,
      boot: thisWriter().boot,
      pidNamespace: thisWriter().pidNamespace,
    });
    assert.equal(isGone(plain(await writerThatHasEnded())), true);
    assert.equal(isGone(plain(thisWriter())), false);
    const init = { ...plain(thisWriter()), pid: 1 }; // another user's, unless the tests run as root
    assert.equal(isGone(init), false);
  });

  test('is gone when it is a zombie', async () => {
    // The shell starts a child and then execs a program that never reaps it. The child is killed only then, because shells do reap.
    const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
      await eventually(() => assert.equal(readFileSync(`/proc/${parent.pid}/comm`, 'utf8'), 'sleep\n'));
      process.kill(Number(pid.toString()), 'SIGKILL');
      const zombie = await eventually(() => {
        const writer = { ...thisWriter(), pid: Number(pid.toString()) };
        const stat = readFileSync(`/proc/${writer.pid}/stat`, 'utf8').slice(0, 200);
        assert.match(stat, /\) Z /);
        return { ...writer, birth: stat.slice(stat.lastIndexOf(')')).split(' ')[20] };
      });
      assert.equal(isGone(zombie), true);
    } finally {
      parent.kill('SIGKILL');
      await once(parent, 'close');
    }
  });
});

/** As a process that ran on this machine a moment ago would have described itself. */
async function writerThatHasEnded(): Promise<RunWriter> {
  const module = JSON.stringify(import.meta.resolve('#src/runner/run-writer.js'));
  const script = `import { thisWriter } from ${module}; process.stdout.write(JSON.stringify(thisWriter()));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  await once(child, 'close');
  return JSON.parse(output.toString()) as RunWriter;
}

async function read(file: string, options: { follow?: boolean } = {}): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const line of readRun(file, options)) lines.push(line);
  return lines;
}
