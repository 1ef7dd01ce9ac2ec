// The contract over a WebSocket.

import { remoteContract } from './remote-contract.js';

remoteContract('websocket');
