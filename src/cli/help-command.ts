// `sluice help`: the same as --help, for those who ask first.

import { UsageError, defineCommand } from './command.js';
import { commands, findCommand } from './commands.js';
import { commandHelp, overview } from './help.js';
import { print } from './own-output.js';

export const help = defineCommand(
  {
    name: 'help',
    usage: '[COMMAND]',
    about: 'Explains a command, or lists them.',
    examples: [{ line: 'sluice help exec', meaning: 'the same as sluice exec --help' }],
    options: {},
    operands: 'commands',
  },
  async ({ operands: [name, other] }) => {
    if (other !== undefined) throw new UsageError('help explains one command at a time');
    await print(name === undefined ? overview(commands) : commandHelp((await findCommand(name).load()).manual));
    return 0;
  },
);
