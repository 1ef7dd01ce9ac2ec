// The manual of `sluice serve`, made from the table of its options.

import type { Manual } from '../command.js';
import { serveOptions } from './options.js';

const group = 'In the background';

/** About the server as a whole; only on the command line. */
export const backgroundOptions = {
  daemon: {
    kind: 'switch',
    group,
    meaning:
      'Go on in the background, on a socket that the other commands find by themselves. Prints the address and comes back.',
  },
  stop: { kind: 'switch', group, meaning: 'End the server in the background and all its processes.' },
} as const;

export const serveManual = {
  name: 'serve',
  usage: '[OPTIONS]',
  about:
    'Serves processes to clients over WebSocket, Unix socket or stdio. The addresses are the first lines on stdout. Each option can also be ' +
    'set by the environment variable named in brackets, lists separated by commas, or in a config file: --max-connections 10 is ' +
    '{"maxConnections": 10}. Flags win over variables, variables over the file.',
  examples: [
    { line: 'sluice serve', meaning: 'for clients here, on a free port' },
    { line: 'sluice serve --daemon', meaning: 'in the background' },
    { line: 'sluice serve --listen stdio', meaning: 'for one client, as over ssh' },
    { line: 'sluice serve --listen ws://0.0.0.0:4500 --token-file token', meaning: 'for other machines' },
  ],
  options: { ...backgroundOptions, ...Object.fromEntries(serveOptions) },
  operands: 'none',
} as const satisfies Manual;
