// `sluice completion`: makes a shell complete commands, options and process names.

import { UsageError, defineCommand } from './command.js';
import { commands } from './commands.js';
import { bashScript } from './completion-bash.js';
import { fishScript } from './completion-fish.js';
import { completedCommands, shells } from './completion-table.js';
import { zshScript } from './completion-zsh.js';
import { print } from './own-output.js';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

export const completion = defineCommand(
  {
    name: 'completion',
    usage: shells.join('|'),
    about:
      'Prints a script that makes the shell complete commands, options and their values, process names, and the command after ' +
      '"sluice exec".',
    examples: [
      { line: 'source <(sluice completion bash)', meaning: 'in ~/.bashrc' },
      {
        line: 'sluice completion bash > ~/.local/share/bash-completion/completions/sluice',
        meaning: 'or once, with bash-completion',
      },
      { line: 'source <(sluice completion zsh)', meaning: 'in ~/.zshrc, after compinit' },
      { line: 'sluice completion zsh > "${fpath[1]}/_sluice"', meaning: 'or once, into a folder of fpath' },
      { line: 'sluice completion fish > ~/.config/fish/completions/sluice.fish', meaning: 'once' },
    ],
    options: {},
    operands: 'shells',
    notes: ['Regenerate a script that was written to a file whenever Sluice is updated. Only shells started afterwards use it.'],
  },
  async ({ operands }) => {
    const shell = shells.find((each) => each === operands[0]);
    if (shell === undefined || operands.length > 1) {
      const got = operands.length === 0 ? '' : `, got "${operands.join(' ')}"`;
      throw new UsageError(`completion needs one of ${shells.join(', ')}${got}; as in: sluice completion bash`);
    }
    await print(scripts[shell](await completedCommands(commands)));
    return 0;
  },
);
