#!/usr/bin/env node
// Find the command, run it, set its exit status. The only place that reads argv.

import { readWords } from './command.js';
import { commands, findCommand } from './commands.js';
import { ownFailure } from './exit-status.js';

async function main([name, ...args]: readonly string[]): Promise<number> {
  switch (name) {
    case '--version':
    case '-V':
      process.stdout.write(`${(await import('../server/index.js')).version}\n`);
      return 0;
    case undefined:
    case '--help':
    case '-h':
      process.stdout.write((await import('./help.js')).overview(commands));
      return 0;
  }
  const command = await findCommand(name).load();
  const words = readWords(command.manual, args);
  if (!words.some(({ kind }) => kind === 'help')) return command.execute(words);
  process.stdout.write((await import('./help.js')).commandHelp(command.manual));
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`sluice: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = ownFailure;
}
