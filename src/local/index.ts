// Ways to connect that need both the client and the server, or Node.

export { type NodeConnectOptions, connect } from './connect.js';
export { connectInProcess } from './in-process.js';
export { type LaunchOptions, launchServer } from './launch.js';
export type { StreamPair } from '../transport/stream-pair.js';
