// `sluice resize`: sets the size of a process's terminal.

import { UsageError, defineCommand } from './command.js';
import { attachTo, findProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';

export const resize = defineCommand(
  {
    name: 'resize',
    usage: '[OPTIONS] NAME COLSxROWS',
    about: 'Sets the size of a process’s terminal, and notifies the programs in it.',
    examples: [{ line: 'sluice resize web 120x40', meaning: '120 columns, 40 rows' }],
    options: serverOptions,
    operands: 'processes',
  },
  async ({ flags, operands }) => {
    const [name, size = ''] = operands;
    const { cols, rows } = /^(?<cols>\d+)x(?<rows>\d+)$/.exec(size)?.groups ?? {};
    if (name === undefined || cols === undefined || rows === undefined || operands.length > 2) {
      throw new UsageError('resize needs a process and a size, as in: sluice resize NAME 120x40');
    }
    await using client = await requireServer(flags);
    const status = await findProcess(client, name);
    await using handle = await attachTo(client, status, { role: 'drive', follow: false });
    await handle.resize({ cols: Number(cols), rows: Number(rows) });
    return 0;
  },
);
