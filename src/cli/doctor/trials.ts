// Tries Sluice out on this machine: bytes through pipes, a server that is killed, and a sandbox.

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../client/index.js';
import { connectInProcess, launchServer } from '../../local/index.js';
import { Sandbox } from '../../process/index.js';
import { type Finding, readText } from './finding.js';
import { backendName } from './machine.js';
import { endingText } from '../process-table.js';
import { ownCommand } from '../serve/daemon.js';

/** More than any pipe holds, so that it takes several writes. */
const sampleBytes = 256 * 1024;

/** For commands that take only a moment on a healthy machine. */
export const trial = { timeoutMs: 10_000, forceAfterMs: 0, envPolicy: { inherit: 'core' } } as const;

export async function pipes(): Promise<Finding> {
  await using client = connectInProcess();
  const sample = randomBytes(sampleBytes);
  for (const [descriptor, stream] of [['1', 'stdout'] as const, ['2', 'stderr'] as const]) {
    const result = await client.run(['sh', '-c', `cat >&${descriptor}; exit 7`], { ...trial, input: sample });
    const { bytes } = result[stream];
    const ending = endingText(result.ending);
    if (ending !== 'exited 7') return { state: 'broken', found: `a command that should exit with 7 did not: ${ending}` };
    if (!sample.equals(bytes))
      return { state: 'broken', found: `${stream} returned ${bytes.length} bytes, which differ from the ${sampleBytes} sent` };
  }
  return { state: 'ok', found: `${sampleBytes / 1024} KiB through stdin, stdout and stderr, every byte as sent` };
}

/** As long as the watchdog itself keeps trying. */
const survivalMs = 5_000;

/**
 * Kills a server that has a process outside its session and group. On the Linux backend that process has lost its parents too, so
 * only its inherited mark leads to it.
 */
export async function nothingLeftBehind(): Promise<Finding> {
  await using server = await launchServer({
    ...ownCommand(['serve', '--listen', 'stdio', '--log-level', 'silent']),
    env: environmentWithoutSettings(),
    stderr: 'ignore',
  });
  const { serverPid } = await server.environment();
  if (serverPid === undefined) throw new Error('the server has another version and does not report its pid');
  const stray = await startStray(server, await backendName());
  try {
    process.kill(serverPid, 'SIGKILL');
    const killedAt = Date.now();
    while (isLiving(stray) && Date.now() - killedAt < survivalMs) await sleep(10);
    const tookMs = Date.now() - killedAt;
    if (!isLiving(stray)) return { state: 'ok', found: `a detached process was gone ${tookMs} ms after its server was killed` };
    return {
      state: 'broken',
      found: `a detached process, with pid ${stray}, outlived a server that was killed`,
      remedy:
        'give its watchdog what it needs: /bin/sh; grep and sleep, or with the portable backend ps and awk, in /usr/bin or /bin; ' +
        'a readable /proc; and, to mark processes, setrlimit with RLIMIT_RTTIME',
    };
  } finally {
    if (isLiving(stray)) process.kill(stray, 'SIGKILL');
  }
}

/** Settings for the user's own servers must not affect this check. */
function environmentWithoutSettings(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_'));
  return Object.fromEntries(kept.map(([name, value]) => [name, value ?? '']));
}

/** Returns the pid of a process in its own session. Node can create one everywhere; setsid(1) is not on every system. */
async function startStray(server: Client, backend: 'linux' | 'portable'): Promise<number> {
  const leave = backend === 'linux' ? '.unref()' : '';
  const script = `const stray = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    process.stdout.write(stray.pid + '\\n');
    stray${leave};`;
  const parent = await server.start({ ...trial, timeoutMs: 60_000, argv: [process.execPath, '-e', script] });
  for await (const { text } of parent.lines({ stream: 'stdout' })) {
    if (backend === 'linux') await parent.exit;
    return Number(text);
  }
  throw new Error(`the process to be left behind did not start: ${endingText(await parent.exit)}`);
}

/** A zombie counts as dead, although its parent has not reaped it yet; without /proc it cannot be distinguished from a live process. */
function isLiving(pid: number): boolean {
  if (readText('/proc/self/stat') !== undefined) return /\) [^ZX]/.test(readText(`/proc/${pid}/stat`) ?? '');
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

/** Whether commands can be sandboxed here, determined as the server does. */
export async function sandbox(): Promise<Finding> {
  if (process.platform !== 'linux') return { state: 'ok', found: 'sandboxed commands need Linux and will be refused' };
  const problem = await new Sandbox({ env: process.env, hidden: [] }).ready();
  if (problem === undefined) return { state: 'ok', found: 'bubblewrap works' };
  return { state: 'warning', found: 'sandboxed commands will be refused', remedy: problem };
}
