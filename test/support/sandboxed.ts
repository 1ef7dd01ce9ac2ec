// Commands in a real sandbox, started the way a client starts them.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'node:test';
import { connectInProcess } from '#src/index.js';
import { Sandbox, type SpawnSpec, prepareSandboxed } from '#src/process/index.js';
import type { PreparedSpec, SandboxPolicy } from '#src/protocol/index.js';
import { outputText } from './output-text.js';

const sandbox = new Sandbox({ env: process.env, hidden: [] });

/**
 * Why this machine has no sandbox to test with, or false if it has one. Where bubblewrap itself works there must be one: a sandbox that
 * wrongly considers itself unusable must not cause its tests to be skipped.
 */
export const noSandbox = bubblewrapWorks() ? false : ((await sandbox.ready()) ?? false);

function bubblewrapWorks(): boolean {
  const bwrap = ['bwrap', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', '--proc', '/proc', 'true'];
  return spawnSync('env', ['--block-signal', ...bwrap]).status === 0;
}

export const env: Readonly<Record<string, string>> = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' };

export const fullAccess: SandboxPolicy = { type: 'dangerFullAccess' };
export const readOnly: SandboxPolicy = { type: 'readOnly' };
/** Only what the test names is writable. */
export const workspaceOnly = { type: 'workspaceWrite', excludeSlashTmp: true, excludeTmpdirEnvVar: true } as const;

export interface Command {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly io?: SpawnSpec['io'];
  readonly hidden?: readonly string[];
  /** Added to the environment of the sandbox itself, which is the server's. */
  readonly serverEnv?: Readonly<Record<string, string>>;
}

export async function prepared(command: Command, policy: SandboxPolicy): Promise<PreparedSpec> {
  const spec = { cwd: '/', env, io: { kind: 'pipe', stdin: 'closed' }, ...command } as const;
  const { hidden, serverEnv } = command;
  const isPlain = hidden === undefined && serverEnv === undefined;
  const own = isPlain ? sandbox : new Sandbox({ env: { ...process.env, ...serverEnv }, hidden: hidden ?? [] });
  return prepareSandboxed(spec, policy, own);
}

/** How it ended and everything it wrote, such as 'exit 0: text'. */
export async function outcome(command: Command, policy: SandboxPolicy): Promise<string> {
  await using client = connectInProcess();
  await using child = await client.start({ prepared: await prepared(command, policy) });
  const text = await outputText(child);
  const ending = await child.closed;
  return `${ending.kind === 'code' ? `exit ${ending.code}` : ending.kind}: ${text.trimEnd()}`;
}

/** A command line for the shell; the rest are $1 and so on. */
export function shell(script: string, ...args: string[]): { readonly argv: readonly string[] } {
  return { argv: ['sh', '-c', script, 'sh', ...args] };
}

/** Folders for each test: a workspace, and one outside it. Call once at the top of a suite. */
export function scratchFolders(): { root: string; workspace: string; outside: string } {
  const folders = { root: '', workspace: '', outside: '' };
  beforeEach(() => {
    folders.root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-sandbox-')));
    folders.workspace = join(folders.root, 'workspace');
    folders.outside = join(folders.root, 'outside');
    for (const folder of [folders.workspace, folders.outside]) mkdirSync(folder);
  });
  afterEach(() => rmSync(folders.root, { recursive: true }));
  return folders;
}

/** The same spec in a sandbox, for what `prepareSandboxed` cannot express. */
export function wrapped(spec: Partial<SpawnSpec>, policy: SandboxPolicy): PreparedSpec {
  const whole: SpawnSpec = {
    program: { kind: 'lookup' },
    argv: [],
    cwd: '/',
    env,
    io: { kind: 'pipe', stdin: 'closed' },
    arg0: undefined,
    ...spec,
  };
  const { program, argv, cwd, env: environment, io, fd3 } = sandbox.wrap(whole, policy);
  return { program: program.kind === 'exact' ? program.path : '', argv: [...argv], cwd, env: { ...environment }, io, fd3 };
}

/** Creates an executable file and returns its path. */
export function putProgram(path: string, script: string | Uint8Array): string {
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}
