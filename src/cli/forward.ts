// `sluice forward`: makes ports and sockets of the server's machine available on this one.

import type { Client, Forward } from '../client/index.js';
import { UsageError, defineCommand } from './command.js';
import { type ForwardWord, addressText, parseForward } from './forward-words.js';
import { onSignals } from './inherited-signals.js';
import { complain, print } from './own-output.js';
import { requireServer } from './server-choice.js';
import { type ServerFlags, namedServer, openServer, serverOptions } from './server-options.js';
import { jsonLine } from './visible-text.js';

const options = {
  json: { kind: 'switch', meaning: 'Print a JSON object for each forward.' },
  ...serverOptions,
} as const;

export const forward = defineCommand(
  {
    name: 'forward',
    usage: '[OPTIONS] LOCAL:REMOTE...',
    about:
      'Listens on this machine and connects each program that connects there to a port or a Unix socket of the server’s machine, until Ctrl-C. Prints where ' +
      'it listens. The server must allow it: start it with --allow-forward.',
    examples: [
      { line: 'sluice forward 3000', meaning: 'port 3000 here is port 3000 there' },
      { line: 'sluice forward 8080:3000 0:5432', meaning: 'two at once; 0 is any free port' },
      { line: 'sluice forward --via "ssh devbox" 8080:/run/app.sock', meaning: 'a Unix socket of devbox' },
    ],
    options,
    operands: 'addresses',
    notes: [
      'LOCAL and REMOTE are [HOST:]PORT or the path of a Unix socket. Without a host, both are on loopback. Other hosts on the remote side ' +
        'must be opened by name: start the server with --reach HOST. Anyone who can connect to the local side gets through.',
      'Connections continue when the connection to the server is lost and comes back in time.',
    ],
  },
  async ({ flags, operands }) => {
    const words = operands.map(parseForward);
    if (words.length === 0) throw new UsageError('forward needs at least one LOCAL:REMOTE, as in: sluice forward 8080:3000');
    await using client = await forwardingServer(flags);
    const stopped = new Promise<undefined>((resolve) => onSignals(['SIGINT', 'SIGTERM'], () => resolve(undefined)));
    const forwards = await openAll(client, words);
    for (const [index, { address }] of forwards.entries()) {
      const remote = words[index]?.remote;
      await print(flags.json ? jsonLine({ local: address, remote }) : `${addressText(address)}\n`);
    }
    const problem = await Promise.race([stopped, ...forwards.map(({ closed }) => closed)]);
    if (problem !== undefined) throw new Error(`the server was lost (${problem})`);
    return 0;
  },
);

/** A server that this command launches needs no option: a user who may launch it may also forward through it. */
async function forwardingServer(flags: ServerFlags): Promise<Client> {
  const named = namedServer(flags, process.env);
  if (named?.kind !== 'launched') return requireServer(flags);
  return openServer({ ...named, command: [...named.command, '--allow-forward'] }, flags);
}

/** All or none: if one address is in use, the command fails. */
function openAll(client: Client, words: readonly ForwardWord[]): Promise<Forward[]> {
  return Promise.all(
    words.map((word) =>
      client.forward({ ...word, onProblem: (problem) => void complain(`${addressText(word.remote)}: ${problem}`) }),
    ),
  );
}
