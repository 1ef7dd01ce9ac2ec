// The contract over a Unix socket, with a server of its own for every client.

import { remoteContract } from './remote-contract.js';

remoteContract('unix');
