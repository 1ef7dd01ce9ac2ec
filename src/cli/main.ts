// Find the command, run it, set its exit status. The only place that reads argv.

import { commands, findCommand } from './commands.js';
import { ownFailure, stdoutGone } from './exit-status.js';
import { ignoreInherited } from './inherited-signals.js';
import { ReaderGone, complain, print } from './own-output.js';
import { readWords } from './read-words.js';

async function main([name, ...args]: readonly string[]): Promise<number> {
  switch (name) {
    case '--version':
    case '-V':
      await print(`${(await import('../server/index.js')).version}\n`);
      return 0;
    case undefined:
    case '--help':
    case '-h':
      await print((await import('./help.js')).overview(commands));
      return 0;
  }
  const command = await findCommand(name).load();
  const words = readWords(command.manual, args);
  if (!words.some(({ kind }) => kind === 'help')) return command.execute(words);
  await print((await import('./help.js')).commandHelp(command.manual));
  return 0;
}

async function statusOf(error: unknown): Promise<number> {
  if (error instanceof ReaderGone) return stdoutGone;
  await complain(error instanceof Error ? error.message : String(error));
  return ownFailure;
}

/** Reports an internal fault in one line too. A server has its own listener, which writes to its log. */
async function endWithFault(error: Error): Promise<void> {
  if (process.listenerCount('uncaughtException') === 1) process.exit(await statusOf(error));
}

process.on('uncaughtException', (error) => void endWithFault(error));

/** Sets the exit status: failure until the command has returned its own, so that a command that never returns does not count as success. */
async function run(): Promise<void> {
  process.exitCode = ownFailure;
  try {
    ignoreInherited(process.env);
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    process.exitCode = await statusOf(error);
  }
}

void run();
