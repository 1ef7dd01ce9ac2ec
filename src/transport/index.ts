// Ways to obtain channels, for the command line.

export { ConnectError } from './connect-error.js';
export { type ListenEndpoint, parseListenUrl, reachOf } from './endpoint.js';
export { StreamChannel } from './stream-channel.js';
