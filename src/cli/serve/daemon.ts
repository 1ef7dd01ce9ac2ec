// The user's own background server: found by its socket, started when it is needed, stopped on request.

import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Client } from '../../client/index.js';
import { connect } from '../../local/index.js';
import { ConnectError } from '../../transport/index.js';
import { type RuntimeFolder, runtimeFolder, withPlaceHint } from './runtime-folder.js';

/** A server that was started on demand, not with `sluice serve --daemon`, exits after this long without use. */
const idleExitMs = 10 * 60_000;

/** How long a server may take to end all its processes. */
const stopPatienceMs = 30_000;

/** Undefined when none is running. */
export async function findDaemon(): Promise<Client | undefined> {
  try {
    return await connect(runtimeFolder(process.env, 'leave').socketUrl);
  } catch (error) {
    if (error instanceof ConnectError) return undefined;
    throw error;
  }
}

/** Starts one when none is running. */
export async function needDaemon(): Promise<Client> {
  const running = await findDaemon();
  if (running !== undefined) return running;
  const flags = ['--log-level', 'warn', '--idle-exit-ms', String(idleExitMs)];
  try {
    await startDaemon(flags, homeOrRoot());
  } catch (error) {
    // Another shell may have started one at the same time.
    const other = await findDaemon();
    if (other !== undefined) return other;
    throw error;
  }
  return connect(runtimeFolder(process.env, 'leave').socketUrl);
}

/** Resolves with its addresses once it listens. `flags` are those of `sluice serve`. */
export async function startDaemon(flags: readonly string[], cwd: string): Promise<string[]> {
  const folder = runtimeFolder(process.env, 'make');
  const log = openLog(folder);
  const { command, args } = ownCommand(['serve', '--listen', folder.socketUrl, ...flags]);
  const server = spawn(command, args, { cwd, detached: true, stdio: ['ignore', 'pipe', log] });
  const { stdout } = server;
  closeSync(log);
  if (stdout === null) throw new Error('the background server has no stdout');
  // The server writes its addresses in one piece once it listens, or exits when it cannot.
  const addresses = await new Promise<string | undefined>((resolve) => {
    stdout.once('data', (piece: Buffer) => resolve(piece.toString()));
    server.once('exit', () => resolve(undefined));
  });
  if (addresses === undefined) throw new Error(`the background server did not start: ${lastLine(folder)}`);
  stdout.destroy();
  server.unref();
  return addresses.trim().split('\n');
}

/**
 * Starts this program again with the same Node and the same flags. Bypasses the shell script at its head: a server that all shells share
 * must not ignore a signal because one of them does.
 */
export function ownCommand(args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  // Node takes nothing after the two dashes as an option.
  return { command: process.execPath, args: [...process.execArgv, '--', process.argv[1] ?? '', ...args] };
}

function openLog({ logFile }: RuntimeFolder): number {
  try {
    return openSync(logFile, 'w', 0o600);
  } catch (error) {
    throw withPlaceHint(path.dirname(logFile), error);
  }
}

/** A user without a home folder, as in a container, gets a server too. */
function homeOrRoot(): string {
  const home = homedir();
  return statSync(home, { throwIfNoEntry: false })?.isDirectory() === true ? home : '/';
}

/** Ends the server and its processes; false when none was running. */
export async function stopDaemon(): Promise<boolean> {
  const client = await findDaemon();
  if (client === undefined) return false;
  const { serverPid } = await client.environment();
  if (serverPid === undefined) throw new Error('the background server does not report its pid; it is not one of ours');
  process.kill(serverPid, 'SIGTERM');
  await client.ended;
  const deadline = performance.now() + stopPatienceMs;
  while (isAlive(serverPid)) {
    if (performance.now() > deadline) throw new Error(`the server with pid ${serverPid} was asked to stop but is still running`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return true;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

/** The last line that the server wrote to its log or, before it had one, to stderr. */
function lastLine({ logFile }: RuntimeFolder): string {
  const last = readFileSync(logFile, 'utf8').trim().split('\n').at(-1) ?? '';
  return last === '' ? 'it logged nothing' : last.replace(/^sluice: /, '');
}
