// `sluice exec`: one command on this machine, its streams joined to ours.

import { once } from 'node:events';
import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import type { ProcessHandle } from '../client/index.js';
import { connectInProcess } from '../local/index.js';
import { type Ending, type SpawnFailure, isExecError } from '../protocol/index.js';
import { LocalTerminal } from './local-terminal.js';

/** Signals that are passed on to the command instead of ending us; we end when it does. */
const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

export async function exec(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { tty: { type: 'boolean', short: 't' } },
    allowPositionals: true,
  });
  if (positionals.length === 0) throw new Error('exec needs a command, as in: sluice exec -t -- bash');
  await using client = connectInProcess();
  const envPolicy = { inherit: 'all', ignoreDefaultExcludes: true } as const;
  const terminal = values.tty === true ? new LocalTerminal() : undefined;
  const isStdinForwarded = terminal !== undefined || !process.stdin.isTTY;
  const io = terminal?.io() ?? ({ kind: 'pipe', stdin: isStdinForwarded ? 'open' : 'closed' } as const);
  try {
    await using child = await client.start({ argv: positionals, envPolicy, io });
    using _signals = forwardSignals(child);
    using _terminal = terminal?.attach(child);
    if (isStdinForwarded) forwardStdin(child);
    await forwardOutput(child);
    return exitStatus(await child.exit);
  } catch (error) {
    if (!isExecError(error, 'spawnFailed')) throw error;
    process.stderr.write(`sluice: ${error.message}\n`);
    return failureStatus(error.data.failure);
  } finally {
    process.stdin.destroy(); // a read on it would keep us alive
  }
}

/** At the pace the command reads; what is typed after it stopped reading goes nowhere. */
function forwardStdin(child: ProcessHandle): void {
  const { stdin } = process;
  stdin.on('data', (piece: Buffer) => {
    stdin.pause();
    void child.write(piece).then(
      (status) => void (status === 'accepted' && stdin.resume()),
      () => {}, // the process has gone; its ending is reported
    );
  });
  stdin.on('end', () => void child.closeStdin().catch(() => {}));
  stdin.on('error', () => void child.closeStdin().catch(() => {})); // a terminal that went away reads as an error
}

async function forwardOutput(child: ProcessHandle): Promise<void> {
  for await (const { stream, bytes } of child.output) {
    const target = stream === 'stderr' ? process.stderr : process.stdout;
    if (!target.write(bytes)) await once(target, 'drain');
  }
}

function forwardSignals(child: ProcessHandle): Disposable {
  const forward = (signal: string) => void child.signal(signal);
  for (const signal of forwardedSignals) process.on(signal, forward);
  return {
    [Symbol.dispose]() {
      for (const signal of forwardedSignals) process.off(signal, forward);
    },
  };
}

function exitStatus(ending: Ending): number {
  switch (ending.kind) {
    case 'code':
      return ending.code;
    case 'signal': {
      const numbers: Readonly<Record<string, number>> = constants.signals;
      return 128 + (numbers[ending.signal] ?? 0);
    }
    case 'lost':
      return 125;
  }
}

function failureStatus(failure: SpawnFailure): number {
  switch (failure) {
    case 'programNotFound':
      return 127;
    case 'notExecutable':
    case 'permissionDenied':
      return 126;
    case 'cwdNotFound':
    case 'cwdNotDirectory':
    case 'badArgument':
    case 'outOfResources':
      return 125;
  }
}
