// `sluice cp`: copies files and folders between this machine and a server.

import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type Client, ConnectionClosedError, type TransferResult } from '../client/index.js';
import { isExecError } from '../protocol/index.js';
import { type Flags, UsageError, defineCommand } from './command.js';
import { signalStatus } from './exit-status.js';
import { onSignals } from './inherited-signals.js';
import { openInput, releaseInput, untilEnd } from './own-input.js';
import { complain, print } from './own-output.js';
import { ProgressLine } from './progress-line.js';
import { fileServer, remoteChild, remoteName, remotePath } from './remote-path.js';
import { serverOptions } from './server-options.js';
import { quoted } from './shell-words.js';
import { jsonLine } from './visible-text.js';

const options = {
  exclude: {
    kind: 'list',
    placeholder: 'NAME',
    meaning: 'Leave out files and folders with this name or relative path; * and ? match. Repeatable.',
  },
  resume: {
    kind: 'switch',
    meaning:
      'Continue an interrupted copy of a folder: skip files that are equal in size, time and SHA-256 on both sides. B is the copy.',
  },
  json: { kind: 'switch', meaning: 'Print what was copied as JSON.' },
  ...serverOptions,
} as const;

export const cp = defineCommand(
  {
    name: 'cp',
    usage: '[OPTIONS] A B',
    about:
      'Copies a file, or a folder with everything in it. :PATH is a file on the server, a lone dash is stdin or stdout, and anything else ' +
      'is a file here. If B is a folder, the copy is made in it.',
    examples: [
      { line: 'sluice cp report.pdf :/srv/files', meaning: 'to the background server' },
      { line: 'sluice cp --connect ws://host:4500 :/var/log/app ./logs', meaning: 'a folder from another machine' },
      { line: 'sluice cp --via "ssh host" src/. :/srv/app', meaning: 'what a folder contains' },
      { line: 'tar c . | sluice cp - :/backup/today.tar', meaning: 'stdin' },
    ],
    options,
    operands: 'files',
    notes: [
      'Relative paths on the server begin at its own folder. A file here whose name begins with a colon is ./:NAME.',
      'Modes, times and links of a folder are kept, owners are not. Sockets, pipes and devices in a folder are skipped and reported. A file ' +
        'is replaced as a whole, so a copy that stops in the middle leaves the old one.',
    ],
  },
  async ({ flags, operands: [from, to, ...more] }) => {
    if (from === undefined || to === undefined || more.length > 0)
      throw new UsageError('cp needs two paths, as in: sluice cp A :B');
    const copying = routeOf(endOf(from), endOf(to));
    if (flags.json && copying.route === 'toStdout') throw new UsageError('--json cannot be used with "-" as the destination');
    const line = new ProgressLine();
    const stop = new AbortController();
    let stoppedBy: NodeJS.Signals | undefined;
    using _signals = onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => {
      stoppedBy = signal;
      stop.abort();
    });
    await using client = await fileServer(flags, (text) => line.complain(text));
    try {
      const copied = await copy({ client, flags, line, signal: stop.signal }, copying);
      line.erase();
      await report(copied, flags);
      return 0;
    } catch (error) {
      line.erase();
      if (stoppedBy !== undefined) return signalStatus(stoppedBy);
      throw error;
    }
  },
);

type End = { readonly kind: 'here' | 'server'; readonly path: string } | { readonly kind: 'stdio' };

function endOf(text: string): End {
  if (text === '-') return { kind: 'stdio' };
  return text.startsWith(':') ? { kind: 'server', path: text.slice(1) } : { kind: 'here', path: text };
}

type Copying =
  | { readonly route: 'upload' | 'download' | 'onServer'; readonly from: string; readonly to: string }
  | { readonly route: 'toStdout'; readonly from: string }
  | { readonly route: 'fromStdin'; readonly to: string };

function routeOf(from: End, to: End): Copying {
  if (from.kind !== 'server' && to.kind !== 'server') {
    throw new UsageError('neither path is on the server; write :PATH for one that is, or use "cp" for files here');
  }
  if (to.kind === 'stdio') {
    if (from.kind === 'server') return { route: 'toStdout', from: from.path };
  } else if (from.kind === 'stdio') return { route: 'fromStdin', to: to.path };
  else {
    const route = from.kind === 'here' ? 'upload' : to.kind === 'here' ? 'download' : 'onServer';
    return { route, from: from.path, to: to.path };
  }
  throw new UsageError('stdin cannot be copied to stdout');
}

interface Context {
  readonly client: Client;
  readonly flags: Flags<typeof options>;
  readonly line: ProgressLine;
  readonly signal: AbortSignal;
}

/** What a copy has to say, and where it is. */
type Copied = Partial<TransferResult> & { readonly to?: string };

function copy(context: Context, copying: Copying): Promise<Copied> {
  switch (copying.route) {
    case 'upload':
      return upload(context, copying);
    case 'download':
      return download(context, copying);
    case 'onServer':
      return copyOnServer(context, copying);
    case 'toStdout':
      return toStdout(context, copying.from);
    case 'fromStdin':
      return fromStdin(context, copying.to);
  }
}

interface Paths {
  readonly from: string;
  readonly to: string;
}

async function upload(context: Context, { from, to }: Paths): Promise<Copied> {
  const { client, flags, line } = context;
  const source = await stat(from);
  if (!source.isDirectory()) line.totalBytes = source.size;
  const there = await remotePath(client, to);
  const target =
    flags.resume || isContents(from) || !(await isRemoteFolder(client, there))
      ? there
      : remoteChild(there, path.basename(path.resolve(from)));
  return transferred(context, { from, to: `:${target}` }, (transfer) => client.files.upload(from, target, transfer));
}

async function download(context: Context, { from, to }: Paths): Promise<Copied> {
  const { client, flags, line } = context;
  const source = await remotePath(client, from);
  const status = await client.files.stat(source);
  if (status.kind !== 'directory') line.totalBytes = status.size;
  const target =
    flags.resume || isContents(from) || !(await isLocalFolder(to)) ? to : path.join(to, path.basename(remoteName(source)));
  return transferred(context, { from: `:${source}`, to: target }, (transfer) => client.files.download(source, target, transfer));
}

type Transfer = Parameters<Client['files']['upload']>[2];

async function transferred(
  { flags, line, signal }: Context,
  { from, to }: Paths,
  act: (transfer: Transfer) => Promise<TransferResult>,
): Promise<Copied> {
  const { exclude, resume } = flags;
  try {
    return { ...(await act({ exclude, resume, signal, onProgress: (progress) => line.update(progress) })), to };
  } catch (error) {
    if (!(error instanceof ConnectionClosedError)) throw error;
    const again = `sluice cp --resume ${[from, to].map(quoted).join(' ')}`;
    throw new Error(`the server was lost, and the copy is not complete; "${again}", with the same server, continues it`, {
      cause: error,
    });
  }
}

async function copyOnServer({ client }: Context, paths: Paths): Promise<Copied> {
  const [from, there] = [await remotePath(client, paths.from), await remotePath(client, paths.to)];
  const to = isContents(paths.from) || !(await isRemoteFolder(client, there)) ? there : remoteChild(there, remoteName(from));
  await client.files.copy(from, to, { recursive: true });
  return { to: `:${to}` };
}

async function toStdout({ client, line, signal }: Context, from: string): Promise<Copied> {
  const source = await remotePath(client, from);
  await using content = await client.files.readStream(source);
  line.totalBytes = content.length;
  let bytes = 0;
  for await (const chunk of content) {
    signal.throwIfAborted();
    await print(chunk);
    bytes += chunk.length;
    if (!process.stdout.isTTY) line.update({ files: 1, bytes, path: remoteName(source) });
  }
  return {};
}

async function fromStdin({ client, line, signal }: Context, to: string): Promise<Copied> {
  const target = await remotePath(client, to);
  let bytes = 0;
  const input = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of untilEnd<Uint8Array>(openInput())) {
      bytes += chunk.length;
      line.update({ files: 1, bytes, path: remoteName(target) });
      yield chunk;
    }
  };
  try {
    await client.files.write(target, input(), { signal });
  } finally {
    releaseInput(); // after an interrupt, nothing reads the rest
  }
  return { files: 1, folders: 0, links: 0, bytes, to: `:${target}` };
}

async function report(copied: Copied, { json }: Flags<typeof options>): Promise<void> {
  if (json) await print(jsonLine(copied));
  const { skipped = [], skippedCount = 0 } = copied;
  for (const { path: left, problem } of skipped) await complain(`skipped ${left}: ${problem}`);
  if (skippedCount > skipped.length) await complain(`skipped ${skippedCount - skipped.length} more`);
}

/** As cp has it: the contents of the folder, not the folder itself. */
function isContents(source: string): boolean {
  return source === '.' || source.endsWith('/.');
}

async function isRemoteFolder(client: Client, folder: string): Promise<boolean> {
  try {
    return (await client.files.stat(folder)).kind === 'directory';
  } catch (error) {
    if (isExecError(error, 'fileNotFound')) return false;
    throw error;
  }
}

async function isLocalFolder(folder: string): Promise<boolean> {
  try {
    return (await stat(folder)).isDirectory();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
