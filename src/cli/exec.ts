// `sluice exec`: runs one command with its streams joined to ours, here or on a server, or leaves it running on a server.

import { randomBytes } from 'node:crypto';
import { isatty } from 'node:tty';
import type { Client, ProcessHandle, StartOptions } from '../client/index.js';
import { type Ending, ExecError, type Io, isExecError } from '../protocol/index.js';
import { type Flags, type Input, UsageError, defineCommand } from './command.js';
import { DetachKeys, defaultDetachKeys } from './detach-keys.js';
import { environmentOf, environmentOptions } from './environment-options.js';
import { type Kept, endedJson, notStartedJson } from './exec-result.js';
import { keepHeapSmall } from './engine.js';
import { parseLabels } from './labels.js';
import { exitStatus, failureStatus } from './exit-status.js';
import { ignoredSignals } from './inherited-signals.js';
import { joinStreams } from './joined-streams.js';
import { LocalTerminal } from './local-terminal.js';
import { requireReadableInput } from './own-input.js';
import { KeptOutput, OwnStreams } from './output-sink.js';
import { complain, print } from './own-output.js';
import { defaultFolders, localFolder, remoteFolder } from './start-folder.js';
import { SignalRelay } from './signal-relay.js';
import { type NamedServer, detachedText, lossText, namedServer, openServer, serverOptions } from './server-options.js';

const options = {
  stream: {
    kind: 'switch',
    group: 'Streams',
    meaning: 'For programs that talk line by line: forward bytes both ways as they arrive, without a terminal.',
  },
  tty: { kind: 'switch', short: 't', group: 'Streams', meaning: 'Run the command in its own terminal.' },
  interactive: {
    kind: 'switch',
    short: 'i',
    group: 'Streams',
    meaning: 'Forward stdin even when it is a terminal. With -t and -d it is open anyway, so -it is the same as -t.',
  },
  'detach-keys': {
    kind: 'text',
    placeholder: 'KEYS',
    group: 'Streams',
    meaning: `With -t on a server: keys that detach and leave the command running; "" for none. Default: ${defaultDetachKeys}.`,
  },
  detach: {
    kind: 'switch',
    short: 'd',
    group: 'Streams',
    meaning: 'Leave the command running on a server and print its name. Its stdin stays open for "sluice send".',
  },
  buffered: { kind: 'switch', group: 'Streams', meaning: 'Print the output when the command has ended, stdout before stderr.' },
  json: { kind: 'switch', group: 'Streams', meaning: 'Print how the command ended, and its output, as one JSON object.' },
  'max-output': {
    kind: 'size',
    placeholder: 'BYTES',
    group: 'Streams',
    meaning: 'With --buffered and --json: keep at most this much of each stream. Default: 16MiB.',
  },
  cwd: {
    kind: 'text',
    short: 'C',
    placeholder: 'FOLDER',
    group: 'Command',
    meaning: `Folder to start the command in, on the machine it runs on. ${defaultFolders}`,
    otherNames: ['--workdir', '-w'],
  },
  ...environmentOptions,
  arg0: { kind: 'text', placeholder: 'NAME', group: 'Command', meaning: 'The name that the program sees as its own.' },
  name: {
    kind: 'text',
    placeholder: 'NAME',
    group: 'Command',
    meaning: 'The name of the process for "sluice ps" and other commands. With -d, it replaces an ended process of this name.',
  },
  label: {
    kind: 'list',
    short: 'l',
    placeholder: 'K=V',
    group: 'Command',
    meaning: 'Label the process: "sluice ps" shows the label, and --filter label=K=V selects by it. Repeatable.',
  },
  timeout: { kind: 'duration', placeholder: 'TIME', group: 'Ending', meaning: 'End it after this long; exits with 124.' },
  'idle-timeout': {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'End it after this long without output; exits with 124.',
  },
  grace: {
    kind: 'duration',
    placeholder: 'TIME',
    group: 'Ending',
    meaning: 'Time between SIGTERM and SIGKILL whenever the command is ended. Default: 2s.',
  },
  rm: {
    kind: 'switch',
    group: 'Ending',
    meaning: 'Forget it as soon as it has ended. Without -d nothing is kept anyway, unless you detach with the detach keys.',
  },
  ...serverOptions,
} as const;

type ExecFlags = Flags<typeof options>;

const defaultMaxOutputBytes = 16 * 1024 * 1024;

export const exec = defineCommand(
  {
    name: 'exec',
    usage: '[OPTIONS] [--] COMMAND [ARG...]',
    about:
      'Runs a command on this machine or on a named server. Its output is printed as it is written; stdin is forwarded unless it is a ' +
      'terminal. When the command ends, or this program is ended in any way, nothing of the command is left.',
    examples: [
      { line: 'sluice exec -- make test', meaning: 'run it here' },
      { line: 'sluice exec -t -- bash', meaning: 'in a real terminal' },
      { line: 'sluice exec --stream -- my-agent --json', meaning: 'talk to it line by line through stdin and stdout' },
      { line: 'sluice exec --timeout 30s --json -- ./check', meaning: 'at most 30 seconds, result as JSON' },
      { line: 'sluice exec -d --name web -- npm start', meaning: 'leave it running in the background' },
      { line: 'sluice exec -d --rm --label job=7 -- ./work', meaning: 'label it, and forget it when it has ended' },
      { line: 'sluice exec --via "ssh host" -- uname -a', meaning: 'on another machine' },
    ],
    options,
    operands: 'command',
    notes: [
      'Signals sent to this program reach the command and everything in its group, except those that this program was started to ignore, ' +
        'as after nohup: such a signal neither ends this program nor reaches the command, and a command that runs here ignores it too.',
      'When the connection to a server is lost for more than a second, a line on stderr says so, and for how long Sluice tries to ' +
        'reconnect; see --reconnect. When the server has stopped, this program ends at once.',
      'Exit status: the command’s own; 128+N when signal N ended it; 124 when it timed out; 125 when Sluice itself, the server, stdin or ' +
        'stdout failed; 126 when the program cannot be executed; 127 when it does not exist; 141 when stdout has lost its reader.',
    ],
  },
  run,
);

async function run({ flags, operands }: Input<typeof options>): Promise<number> {
  const server = namedServer(flags, process.env);
  refuseContradictions(flags, operands, server);
  const terminal = flags.tty ? new LocalTerminal() : undefined;
  const isStdinForwarded = !flags.detach && (flags.tty || flags.interactive || !isatty(0));
  if (isStdinForwarded) requireReadableInput(); // before anything is started
  const streams = new OwnStreams();
  await using client = await openClient(flags, server, streams);
  const mayOutlive = flags.detach || (flags.tty && server?.kind === 'address');
  if (mayOutlive && flags.name !== undefined) await (await import('./server-choice.js')).requireFreeName(client, flags.name);
  const cwd = server === undefined ? localFolder(flags.cwd) : (flags.cwd ?? (await remoteFolder(client, server)));
  using signals = flags.detach ? undefined : new SignalRelay();
  using raw = flags.detach ? undefined : terminal?.raw();
  const io = terminal === undefined ? pipes(flags.detach || isStdinForwarded) : ({ kind: 'pty', ...terminal.size } as const);
  const place = { isLocal: server === undefined, cwd };
  const start = { argv: operands, io, restartable: mayOutlive, ...startOptions(flags, place) };
  const started = await client.start(start).catch(notStarted);
  if (started instanceof ExecError) return await reportNotStarted(started, flags);
  await using child = started;
  keepHeapSmall(); // not earlier: once a flag has changed, V8 rejects the compile cache
  if (flags.detach) {
    await leave(child, flags, streams);
    await print(`${child.id}\n`);
    return 0;
  }
  using _size = terminal?.lendSize(child);
  const detachKeys = terminal !== undefined && server?.kind === 'address' ? keysOf(flags) : undefined;
  const kept = flags.buffered || flags.json ? new KeptOutput(flags['max-output'] ?? defaultMaxOutputBytes) : undefined;
  const sink = kept ?? streams;
  const stdin = isStdinForwarded ? 'forward' : 'none';
  const parting = await joinStreams(child, { stdin, atEnd: 'closeStdin', detachKeys, signals, sink });
  switch (parting) {
    case 'detached':
      await streams.tidy();
      raw?.[Symbol.dispose](); // our own message needs the terminal out of raw mode
      await leave(child, flags, streams);
      await streams.notify(detachedText(child.id, flags));
      return 0;
    case 'ended': {
      const ending = await child.closed;
      if (ending.kind !== 'code') await streams.tidy();
      if (kept !== undefined) await printKept(ending, kept.result(), { json: flags.json, streams });
      if (ending.kind === 'lost') await streams.notify(await lossText(client));
      if (ending.reason === 'disconnected') await streams.notify('the server has stopped, and has ended the command');
      return exitStatus(ending);
    }
  }
}

function refuseContradictions(flags: ExecFlags, operands: readonly string[], server: NamedServer | undefined): void {
  if (operands.length === 0) throw new UsageError('exec needs a command, as in: sluice exec -- make test');
  parseLabels(flags.label);
  const modes = (['stream', 'tty', 'buffered', 'json', 'detach'] as const).filter((mode) => flags[mode]);
  const [one, other] = modes.filter((mode) => !(mode === 'tty' && flags.detach));
  const isBothFormat = modes.length === 2 && flags.buffered && flags.json;
  if (one !== undefined && other !== undefined && !isBothFormat)
    throw new UsageError(`--${one} and --${other} exclude each other`);
  if (flags.stream && isatty(0)) {
    throw new UsageError('--stream is for programs, but stdin is a terminal; use -t for a terminal, or leave out --stream');
  }
  if (flags['max-output'] !== undefined && !flags.buffered && !flags.json) {
    throw new UsageError('--max-output needs --buffered or --json');
  }
  if (flags['detach-keys'] !== undefined && (!flags.tty || server?.kind !== 'address')) {
    throw new UsageError('--detach-keys needs -t and a server that outlives this program: name one with --connect, or use -d');
  }
  if (flags.detach && server?.kind === 'launched') {
    throw new UsageError('-d needs a server that outlives this program, and one launched with --via does not; use --connect');
  }
}

async function openClient(flags: ExecFlags, server: NamedServer | undefined, streams: OwnStreams): Promise<Client> {
  if (server !== undefined) return openServer(server, flags, (text) => void streams.notify(text));
  if (flags.detach) return (await import('./serve/daemon.js')).needDaemon();
  const surroundings = { cwd: localFolder(flags.cwd), env: process.env };
  const { connectInProcess } = await import('../local/index.js');
  return connectInProcess({ surroundings, orphans: 'adopt', ignoredSignals: ignoredSignals() });
}

function pipes(isStdinOpen: boolean): Io {
  return { kind: 'pipe', stdin: isStdinOpen ? 'open' : 'closed' };
}

/** Where the command runs. */
interface Place {
  readonly isLocal: boolean;
  readonly cwd: string | undefined;
}

function startOptions(flags: ExecFlags, { isLocal, cwd }: Place): StartOptions {
  const { arg0, timeout, grace } = flags;
  const environment = environmentOf(flags, { env: process.env, isLocal });
  // Programs on a terminal need to know which kind it is, wherever they run.
  const kind = flags.tty ? { TERM: process.env['TERM'] ?? 'xterm-256color' } : {};
  return {
    ...environment,
    env: { ...kind, ...environment.env },
    id: flags.name ?? randomBytes(4).toString('hex'),
    ...(cwd === undefined ? {} : { cwd }),
    ...(arg0 === undefined ? {} : { arg0 }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(flags['idle-timeout'] === undefined ? {} : { idleTimeoutMs: flags['idle-timeout'] }),
    ...(grace === undefined ? {} : { forceAfterMs: grace }),
    ...(flags.label.length === 0 ? {} : { metadata: { labels: parseLabels(flags.label) } }),
  };
}

/** Lets the process outlive us. */
async function leave(child: ProcessHandle, { rm }: ExecFlags, streams: OwnStreams): Promise<void> {
  const { replaced } = await child.release({ replace: 'ended', ...(rm ? { keepMs: 0 } : {}) });
  if (replaced) await streams.notify(`replaced ${child.id}, which had ended`);
}

function keysOf(flags: ExecFlags): DetachKeys {
  return new DetachKeys(flags['detach-keys'] ?? defaultDetachKeys);
}

async function printKept(
  ending: Ending,
  kept: Kept,
  { json, streams }: { readonly json: boolean; readonly streams: OwnStreams },
): Promise<void> {
  if (json) return streams.write('stdout', endedJson(ending, kept));
  for (const name of ['stdout', 'stderr'] as const) {
    const { bytes, droppedBytes } = kept[name];
    await streams.write(name, bytes);
    if (droppedBytes > 0) await streams.notify(`${droppedBytes} bytes of ${name} were dropped; see --max-output`);
  }
}

/** A command that cannot be started has its own exit status; any other error is left to the caller. */
function notStarted(error: unknown): ExecError<'spawnFailed'> {
  if (isExecError(error, 'spawnFailed')) return error;
  throw error;
}

async function reportNotStarted(error: ExecError<'spawnFailed'>, { json }: ExecFlags): Promise<number> {
  const status = failureStatus(error.data.failure);
  await (json ? print(notStartedJson(error, status)) : complain(error.message));
  return status;
}
