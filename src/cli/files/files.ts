// `sluice files`: looks at the files of a server, and changes them. Each action is in its own file.

import { UsageError, defineCommand } from '../command.js';
import { printFiles } from './cat.js';
import { editFile } from './edit.js';
import { listFiles } from './ls.js';
import { type FileOrder, fileActions, fileOptions } from './options.js';
import { removeFiles } from './rm.js';
import { watchFiles } from './watch.js';

const actions: Readonly<Record<(typeof fileActions)[number], (order: FileOrder) => Promise<number>>> = {
  ls: listFiles,
  cat: printFiles,
  rm: removeFiles,
  watch: watchFiles,
  edit: editFile,
};

export const files = defineCommand(
  {
    name: 'files',
    usage: 'ls|cat|rm|watch|edit [OPTIONS] [PATH...]',
    about:
      'Works with the files of the named server, or else of the background server. ls lists a folder, cat prints files, rm removes them, ' +
      'watch prints what changes until Ctrl-C, and edit opens a file in your editor.',
    examples: [
      { line: 'sluice files ls -l /srv/app', meaning: 'a folder' },
      { line: 'sluice files cat --connect ws://host:4500 /etc/hostname', meaning: 'a file of another machine' },
      { line: 'sluice files edit --via "ssh host" /etc/app.conf', meaning: 'in $VISUAL or $EDITOR' },
      { line: 'sluice files watch -r --json /srv/app', meaning: 'a line for each change' },
      { line: 'sluice files rm -r /tmp/build', meaning: 'a folder with everything in it' },
    ],
    options: fileOptions,
    operands: { actions: fileActions },
    notes: [
      'Relative paths begin at the folder of the server. "sluice cp" copies files and folders.',
      'edit writes the file back if you changed it and nothing else did meanwhile; otherwise it keeps your copy and names it.',
      'Exit status: 0 when all of it was done; 1 when watch ended because what it watched is gone; 125 otherwise.',
    ],
  },
  async ({ flags, operands: [name = '', ...operands] }) => {
    const action = fileActions.find((known) => known === name);
    if (action === undefined) {
      throw new UsageError(`files needs one of ${fileActions.join(', ')}, got "${name}"; "sluice files --help" explains them`);
    }
    // With a colon too, as "sluice cp" has it.
    return actions[action]({ flags, paths: operands.map((each) => each.replace(/^:/, '')) });
  },
);
