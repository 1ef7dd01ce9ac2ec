// The contract over stdio: a server launched as a child for every client.

import { launchServer } from '#src/index.js';
import { execContract } from '../contract/exec-contract.js';
import { limitFlags, program } from '../support/sluice-server.js';

execContract({
  name: 'over stdio',
  backend: 'linux',
  connect: ({ limits } = {}) =>
    launchServer({
      command: process.execPath,
      args: ['--', program, 'serve', '--listen', 'stdio', '--log-level', 'error', ...limitFlags(limits)],
    }),
});
