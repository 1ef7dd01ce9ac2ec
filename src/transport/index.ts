// Ways to obtain channels, for the command line.

export { type ListenEndpoint, parseListenUrl } from './endpoint.js';
export { StreamChannel } from './stream-channel.js';
