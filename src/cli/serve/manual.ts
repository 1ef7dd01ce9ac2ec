// The manual of `sluice serve`, generated from the table of its options.

import type { Manual } from '../command.js';
import { serveOptions } from './options.js';

const group = 'In the background';

/** Options for the server as a whole; only on the command line. */
export const backgroundOptions = {
  daemon: {
    kind: 'switch',
    group,
    meaning: 'Run in the background, on a socket that the other commands find automatically. Prints the address and returns.',
  },
  stop: { kind: 'switch', group, meaning: 'Stop the background server and all its processes.' },
} as const;

export const serveManual = {
  name: 'serve',
  usage: '[OPTIONS]',
  about:
    'Serves processes to clients over WebSocket, Unix socket or stdio. The first lines on stdout are its addresses. Each option can also ' +
    'be set by the environment variable in brackets, with lists separated by commas, or in a config file: --max-connections 10 is ' +
    '{"maxConnections": 10}. Flags override variables, and variables override the file.',
  examples: [
    { line: 'sluice serve', meaning: 'for local clients, on a free port' },
    { line: 'sluice serve --daemon', meaning: 'in the background' },
    { line: 'sluice serve --listen stdio', meaning: 'for one client, as over ssh' },
    { line: 'sluice serve --listen ws://0.0.0.0:4500 --token-file token', meaning: 'for other machines' },
  ],
  options: { ...backgroundOptions, ...Object.fromEntries(serveOptions) },
  operands: 'none',
} as const satisfies Manual;
