// Ways to obtain channels, for compositions.

export { StreamChannel, type StreamChannelOptions } from './stream-channel.js';
