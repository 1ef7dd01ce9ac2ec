// `sluice ports`: lists the ports on which programs of the server's machine listen.

import type { Client, PortEvent } from '../client/index.js';
import type { ListeningPort } from '../protocol/index.js';
import { defineCommand } from './command.js';
import { onSignals } from './inherited-signals.js';
import { print } from './own-output.js';
import { requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';
import { columnsOf, padTo } from './text-width.js';
import { jsonLine, visible } from './visible-text.js';

const options = {
  json: { kind: 'switch', meaning: 'Print a JSON array; with --watch one object per line for each change.' },
  watch: {
    kind: 'switch',
    short: 'w',
    meaning: 'Print only ports of processes of this server: first those that are open, then every change, until Ctrl-C.',
  },
  ...serverOptions,
} as const;

export const ports = defineCommand(
  {
    name: 'ports',
    usage: '[OPTIONS]',
    about:
      'Lists the TCP ports on which programs of the server’s machine listen, and the process behind each if the server runs it for you. ' +
      'Servers on Linux only.',
    examples: [
      { line: 'sluice ports', meaning: 'all of them' },
      { line: 'sluice ports --watch', meaning: 'tell me when one of my processes starts to listen' },
      { line: 'sluice ports --json | jq -r ".[].port"', meaning: 'for programs' },
    ],
    options,
    operands: 'none',
  },
  async ({ flags }) => {
    await using client = await requireServer(flags);
    if (flags.watch) return await watch(client, flags.json ? jsonLine : changeLine);
    const listed = (await client.ports()).toSorted((one, other) => one.port - other.port);
    await print(flags.json ? jsonLine(listed) : portTable(listed));
    return 0;
  },
);

async function watch(client: Client, lineOf: (event: PortEvent) => string): Promise<number> {
  using _signals = onSignals(['SIGINT', 'SIGTERM'], () => void client.close());
  for await (const event of client.portEvents()) await print(lineOf(event));
  const problem = await client.ended;
  if (problem !== undefined) throw new Error(`the server was lost (${problem})`);
  return 0;
}

function changeLine({ type, ...port }: PortEvent): string {
  return `${[type, ...cellsOf(port)].join('  ')}\n`;
}

function portTable(listed: readonly ListeningPort[]): string {
  const table = [['PORT', 'ADDRESS', 'PROCESS', 'PID'], ...listed.map(cellsOf)];
  const widths = table.reduce((widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, columnsOf(cell))), [0]);
  return table
    .map((row) => row.map((cell, column) => padTo(widths[column] ?? 0, cell)))
    .map((cells) => `${cells.join('  ').trimEnd()}\n`)
    .join('');
}

function cellsOf({ port, address, processId, pid }: ListeningPort): string[] {
  return [String(port), address, visible(processId ?? '-'), pid === undefined ? '-' : String(pid)];
}
