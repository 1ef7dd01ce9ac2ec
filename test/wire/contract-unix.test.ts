// The contract over a Unix socket.

import { remoteContract } from './remote-contract.js';

remoteContract('unix');
