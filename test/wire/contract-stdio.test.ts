// The contract over stdio: every client launches its own server as a child process.

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
