// The contract over a WebSocket, with a server of its own for every client.

import { remoteContract } from './remote-contract.js';

remoteContract('websocket');
