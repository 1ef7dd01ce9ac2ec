// However the server dies, by a signal or by its own fault: nothing it started survives, every client learns how its processes ended or
// that this is unknown, and the log stays readable.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Client, type ProcessHandle, connect, launchServer } from '#src/index.js';
import { env, openPipe, shell, terminal } from '../contract/connector.js';
import { startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { type KnownProcess, identify, living } from '../support/processes.js';
import { SluiceServer, program } from '../support/sluice-server.js';

const misfortune = fileURLToPath(new URL('../fixtures/misfortune.js', import.meta.url));

/** Faults inside the server, raised by a module that is loaded before it. */
const faults = [
  ['an uncaught exception', 'throw', []],
  ['an unhandled rejection', 'reject', []],
  ['running out of memory', 'allocate', ['--max-old-space-size=40']],
] as const;

/** Processes that ignore signals, run in their own sessions, or are orphaned: the likeliest to survive. */
const deaf = `sh -c 'trap "" TERM HUP INT; echo pid $$; while :; do sleep 1; done'`;
const family = `trap "" TERM HUP INT; echo pid $$; ${deaf} & setsid ${deaf} & (setsid ${deaf} &); wait; sleep 600`;
const familySize = 4;

const lost = { kind: 'lost', reason: 'serverLost', outputComplete: false };

describe('when the server dies', { concurrency: true }, () => {
  guardAgainstLeaks();

  for (const kind of ['websocket', 'unix'] as const) {
    for (const [what, fault, node] of faults) {
      test(`of ${what}, over a ${kind}`, async () => {
        const launch = { node: [...node, '--import', misfortune], env: { MISFORTUNE: fault } };
        await using server = await SluiceServer.start(kind, [], launch);
        await using scene = await Scene.open(server);
        const exited = once(server.child, 'exit') as Promise<[number | null, string | null]>;
        server.child.kill('SIGUSR2');
        const [code, signal] = await exited;
        assert.ok(code !== 0 || signal !== null, 'a fault is not success');
        await scene.isLost();
        await isReadable(server);
        if (fault !== 'allocate') await assertFaultLogged(server, code);
      });
    }

    test(`by SIGKILL, over a ${kind}`, async () => {
      await using server = await SluiceServer.start(kind);
      await using scene = await Scene.open(server);
      await server.stop('SIGKILL');
      await scene.isLost();
      await isReadable(server);
    });

    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      test(`by ${signal}, over a ${kind}, it first ends every process and reports how each ended`, async () => {
        await using server = await SluiceServer.start(kind, ['--force-after-ms', '100']);
        await using scene = await Scene.open(server);
        assert.equal(await server.stop(signal), 0);
        await scene.isReported();
        await isReadable(server);
      });
    }
  }

  test('over stdio, every handle is lost', async () => {
    await using client = await launchServer({
      command: process.execPath,
      args: ['--', program, 'serve', '--listen', 'stdio', '--log-level', 'silent'],
    });
    const { serverPid } = await client.environment();
    const scene = await Scene.on(client);
    process.kill(serverPid ?? assert.fail('no pid'), 'SIGKILL');
    await scene.isLost();
  });

  test('a command running on it exits with a failure status', async () => {
    await using server = await SluiceServer.start('unix');
    const command = startSluice(['exec', '--connect', server.url, '--', 'sh', '-c', 'echo on; sleep 600']);
    await once(command.stdout, 'data');
    const [pid] = await runningPids(server);
    const ended = once(command, 'close') as Promise<[number | null]>;
    await server.stop('SIGKILL');
    assert.deepEqual(await ended, [125, null]);
    await eventually(async () => assert.deepEqual(await living([pid ?? 0]), []));
  });
});

/** A client that runs every kind of process on a server. */
class Scene implements AsyncDisposable {
  readonly #client: Client;
  readonly #children: readonly ProcessHandle[];
  readonly #processes: readonly KnownProcess[];
  readonly #commanding: Promise<string>;

  private constructor(client: Client, children: readonly ProcessHandle[], processes: readonly KnownProcess[]) {
    this.#client = client;
    this.#children = children;
    this.#processes = processes;
    this.#commanding = client.exec(['sleep', '600'], { env }).then(
      ({ exitCode }) => `code ${exitCode}`,
      (error: unknown) => (error instanceof Error ? error.name : String(error)),
    );
  }

  static async open(server: SluiceServer): Promise<Scene> {
    return Scene.on(await connect(server.url, { timeouts: { reconnectMs: 300 } }));
  }

  static async on(client: Client): Promise<Scene> {
    const children: ProcessHandle[] = [];
    const pids: number[] = [];
    for (const io of [openPipe, terminal]) {
      const child = await client.start({ ...shell(family), io });
      children.push(child);
      pids.push(...(await announcedPids(child)));
    }
    children.push(await client.start({ ...shell('yes'), io: openPipe })); // its output is not read
    const processes = await identify([...pids, ...children.map(({ pid }) => pid)]);
    assert.equal(processes.length, 2 * familySize + 1); // each shell announced itself and is a child too
    return new Scene(client, children, processes);
  }

  async isLost(): Promise<void> {
    for (const child of this.#children) {
      const { kind, reason, outputComplete } = await child.exit;
      assert.deepEqual({ kind, reason, outputComplete }, lost);
    }
    assert.equal(await this.#commanding, 'ConnectionClosedError');
    await this.#assertGone();
  }

  async isReported(): Promise<void> {
    for (const child of this.#children) {
      const { kind, reason } = await child.exit;
      assert.deepEqual({ kind, reason }, { kind: 'signal', reason: 'disconnected' });
    }
    assert.notEqual(await this.#commanding, 'code 0');
    await this.#assertGone();
  }

  async #assertGone(): Promise<void> {
    assert.match((await this.#client.ended) ?? '', /./);
    await assert.rejects(this.#client.start(shell('true')));
    await eventually(async () => assert.deepEqual(await living(this.#processes), []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}

async function announcedPids(child: ProcessHandle): Promise<number[]> {
  const pids: number[] = [];
  for await (const { text } of child.lines()) {
    const pid = /^pid (\d+)$/.exec(text)?.[1];
    if (pid !== undefined) pids.push(Number(pid));
    if (pids.length === familySize) break;
  }
  return pids;
}

/** Every line that starts with `{` is JSON; the last may be truncated. Other lines are Node's own crash output. */
async function isReadable({ log, child }: SluiceServer): Promise<void> {
  if (child.stderr?.closed === false) await once(child.stderr, 'close');
  const lines = log.filter((line) => line.startsWith('{'));
  for (const line of lines.slice(0, -1)) JSON.parse(line);
  assert.match(lines[0] ?? '', /"msg":"listening"/);
}

/** Every line is JSON, and the last one reports the fault. */
async function assertFaultLogged({ log }: SluiceServer, code: number | null): Promise<void> {
  const { level, msg, problem } = JSON.parse(log.at(-1) ?? '') as Record<string, string>;
  assert.deepEqual([level, msg, code], ['error', 'the server has failed', 125]);
  assert.match(problem ?? '', /an un(?:caught exception|handled rejection)/);
  for (const line of log) JSON.parse(line);
}

async function runningPids(server: SluiceServer): Promise<number[]> {
  await using client = await connect(server.url);
  return (await client.list({ scope: 'all' })).map(({ pid }) => pid);
}
