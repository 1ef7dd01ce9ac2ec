// `sluice ps`: lists processes.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../client/index.js';
import type { ProcessStatus } from '../protocol/index.js';
import { type Flags, UsageError, defineCommand } from './command.js';
import { isColoured } from './colour.js';
import { onSignals } from './inherited-signals.js';
import { complain, print } from './own-output.js';
import { processTable } from './process-table.js';
import { parseFilters } from './process-filter.js';
import { chosenServer } from './server-choice.js';
import { serverOptions } from './server-options.js';
import { jsonLine, visible } from './visible-text.js';

/** Time between refreshes with --watch. */
const watchMs = 1_000;

const options = {
  json: { kind: 'switch', meaning: 'Print a JSON array; with --watch one per line, whenever something has changed.' },
  quiet: { kind: 'switch', short: 'q', meaning: 'Print names only.' },
  all: { kind: 'switch', short: 'a', meaning: 'Show ended processes too, which is the default.' },
  running: { kind: 'switch', short: 'r', meaning: 'Leave out processes that have ended.' },
  filter: {
    kind: 'list',
    short: 'f',
    placeholder: 'KEY=VALUE',
    meaning:
      'Show only processes with this label (label=K or label=K=V), state (status=running or status=exited) or name (name=web, ' +
      'name=web-*). Repeatable: a process must have all the labels, one of the states and one of the names.',
  },
  watch: { kind: 'switch', short: 'w', meaning: 'Keep refreshing until Ctrl-C.' },
  ...serverOptions,
} as const;

export const ps = defineCommand(
  {
    name: 'ps',
    usage: '[OPTIONS]',
    about:
      'Lists running processes, and ended ones whose output can still be read, of the named server or else of the background server.',
    examples: [
      { line: 'sluice ps', meaning: 'all of them' },
      { line: 'sluice ps --watch', meaning: 'keep refreshing' },
      { line: 'sluice ps --filter label=job=7 --filter status=running', meaning: 'only matching ones' },
      { line: 'sluice ps --json | jq -r ".[].processId"', meaning: 'for programs' },
    ],
    options,
    operands: 'none',
    notes: ['On a terminal, lines are cut to its width. Elsewhere they are printed in full.'],
  },
  async ({ flags }) => {
    if (flags.all && flags.running) throw new UsageError('--all and --running exclude each other');
    parseFilters(flags.filter); // reports an invalid filter even when there is no server
    const client = await chosenServer(flags);
    if (client === undefined) await complain('no server is running; "sluice exec -d" starts one');
    await using _client = client;
    if (!flags.watch || client === undefined) {
      await print(printed(await listed(client, flags), flags));
      return 0;
    }
    return await watch(client, flags);
  },
);

async function listed(client: Client | undefined, { running, filter }: Flags<typeof options>): Promise<ProcessStatus[]> {
  const processes = (await client?.list({ scope: 'all' })) ?? [];
  return processes
    .filter(parseFilters(filter))
    .filter(({ state }) => !running || state === 'running')
    .toSorted((one, other) => one.startedAt - other.startedAt);
}

function printed(processes: readonly ProcessStatus[], { json, quiet }: Flags<typeof options>): string {
  if (json) return jsonLine(processes);
  if (quiet) return processes.map(({ processId }) => `${visible(processId)}\n`).join('');
  const { isTTY, columns } = process.stdout;
  const width = isTTY && columns > 0 ? { columns } : {};
  return processTable(processes, { now: Date.now(), isColoured: isColoured(process.stdout), ...width });
}

/** Overwrites the previous table line by line, so that nothing flickers and nothing scrolls. */
function screen(table: string): string {
  const room = process.stdout.rows > 0 ? Math.max(process.stdout.rows - 1, 1) : Infinity; // the cursor needs a line
  const lines = table.split('\n').slice(0, -1);
  const hidden = lines.length - room + 1;
  const shown = lines.length <= room ? lines : [...lines.slice(0, room - 1), `... ${hidden} more`];
  return `\x1b[H${shown.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`;
}

async function watch(client: Client, flags: Flags<typeof options>): Promise<number> {
  const isScreen = process.stdout.isTTY && !flags.json;
  const ended = new AbortController();
  const lost = client.ended.finally(() => ended.abort());
  using _signals = onSignals(['SIGINT', 'SIGTERM'], () => void client.close());
  if (isScreen) await print('\x1b[2J');
  let last = '';
  try {
    while (!ended.signal.aborted) {
      const processes = await listed(client, flags);
      // Ages change all the time: a screen shows them, but a file gets a new table only when a process has changed.
      const facts = JSON.stringify(processes.map(({ processId, sessionId, state }) => [processId, sessionId, state]));
      if (isScreen) await print(screen(printed(processes, flags)));
      else if (facts !== last) await print(printed(processes, flags));
      last = facts;
      await sleep(watchMs, undefined, { signal: ended.signal });
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  }
  if (isScreen) await print('\n'); // the terminal may have echoed the Ctrl-C
  const problem = await lost;
  if (problem !== undefined) throw new Error(`the server was lost (${problem})`);
  return 0;
}
