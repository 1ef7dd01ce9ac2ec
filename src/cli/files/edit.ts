// `sluice files edit`: opens a file of the server in the user's editor. The file is written back only if the editor changed it and nothing
// else did; whenever it cannot be written, the edited copy is kept.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FileStatus } from '../../protocol/index.js';
import { isExecError } from '../../protocol/index.js';
import { UsageError } from '../command.js';
import { onSignals } from '../inherited-signals.js';
import { fileServer, remoteName, remotePath } from '../remote-path.js';
import type { FileOrder } from './options.js';

/** Longest name of the copy; the rest of a longer one is left out. */
const longestName = 100;

/** Largest file that is opened, in bytes: it is held in memory to see what the editor changed. */
const largestFile = 256 * 1024 * 1024;

export async function editFile({ flags, paths: [given, extra] }: FileOrder): Promise<number> {
  if (given === undefined || extra !== undefined)
    throw new UsageError('files edit needs one path, as in: sluice files edit /etc/hosts');
  const original = await load(flags, given);
  const folder = await mkdtemp(path.join(tmpdir(), 'sluice-edit-')); // which only its owner can enter
  const copy = path.join(folder, nameOfCopy(original.path));
  let isDone = false;
  try {
    await writeFile(copy, original.content, { mode: 0o600, flag: 'wx' });
    const problem = await runEditor(copy);
    const edited = await readFile(copy);
    const isChanged = !edited.equals(original.content);
    isDone = !isChanged;
    if (problem !== undefined) throw new Error(`${problem}; nothing was written`);
    // A new connection: the one that read the file may be gone after hours in the editor.
    if (isChanged) await store(flags, original, edited);
    isDone = true;
    return 0;
  } catch (error) {
    if (isDone) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}; your edited copy is ${copy}`, { cause: error });
  } finally {
    if (isDone) await rm(folder, { recursive: true, force: true });
  }
}

interface Original {
  readonly path: string;
  readonly content: Buffer;
  /** What the file must still be to be written. */
  readonly expected: FileStatus | 'absent';
}

/** A file that does not exist is empty, and is created. */
async function load(flags: FileOrder['flags'], given: string): Promise<Original> {
  await using client = await fileServer(flags);
  const file = await remotePath(client, given);
  try {
    await using content = await client.files.readStream(file);
    if (content.status.size > largestFile) throw new Error(`${file} has ${content.status.size} bytes, more than can be edited`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    return { path: file, content: Buffer.concat(chunks), expected: content.status };
  } catch (error) {
    if (!isExecError(error, 'fileNotFound')) throw error;
    return { path: file, content: Buffer.alloc(0), expected: 'absent' };
  }
}

async function store(flags: FileOrder['flags'], { path: file, expected }: Original, content: Buffer): Promise<void> {
  await using client = await fileServer(flags);
  await client.files.write(file, content, { expected });
}

/** Returns what went wrong. */
async function runEditor(copy: string): Promise<string | undefined> {
  const editor = [process.env['VISUAL'], process.env['EDITOR']].find((each) => each !== undefined && each !== '') ?? 'vi';
  // Signals from the keyboard are for the editor.
  using _signals = onSignals(['SIGINT', 'SIGQUIT'], () => {});
  // By a shell, since the variable may have arguments, as in "code --wait".
  const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, 'sh', copy], { stdio: 'inherit' });
  await once(child, 'exit');
  const { exitCode, signalCode } = child;
  return exitCode === 0 ? undefined : `the editor "${editor}" ended with ${signalCode ?? `status ${exitCode}`}`;
}

/** Keeps what an editor may recognise, such as the extension, and nothing that a shell or a terminal could take for something else. */
function nameOfCopy(file: string): string {
  const name = remoteName(file)
    .replaceAll(/[^\w.+-]/g, '_')
    .replace(/^-/, '_');
  return name.length > 0 && !/^\.+$/.test(name) ? name.slice(-longestName) : 'file';
}
