// Runs the channel contract over every kind of channel.

import { WebSocket } from 'ws';
import type { WebSocketLike } from '#src/transport/browser-websocket-channel.js';
import { channelContract } from './channel-contract.js';
import { memoryPair, plainWebSocketPair, standardStreamsPair, unixPair, webSocketPair } from './channel-pairs.js';

channelContract('memory', memoryPair);
channelContract('a pair of one-way streams', standardStreamsPair);
channelContract('a Unix socket', unixPair);
channelContract('a WebSocket', webSocketPair);
channelContract('a WebSocket with the API of browsers', () => plainWebSocketPair(asInBrowsers), 0);

const { WebSocket: NodeWebSocket } = globalThis as { WebSocket?: new (url: string) => WebSocketLike };
if (NodeWebSocket !== undefined) {
  channelContract("Node's own WebSocket", () => plainWebSocketPair((url) => new NodeWebSocket(url)), 0);
}

/** Hides everything that `ws` offers beyond the standard. */
function asInBrowsers(url: string): WebSocketLike {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  return {
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    get binaryType(): string {
      return socket.binaryType === 'nodebuffer' ? 'blob' : socket.binaryType;
    },
    set binaryType(type: 'arraybuffer') {
      socket.binaryType = type;
    },
    send: (content) => socket.send(content),
    close: (code, reason) => socket.close(code, reason),
    addEventListener: socket.addEventListener.bind(socket),
  };
}
