// Compositions that need both sides, or the machine.

export { type NodeConnectOptions, connect } from './connect.js';
export { connectInProcess } from './in-process.js';
export { type LaunchOptions, launchServer } from './launch.js';
export type { StreamPair } from '../transport/stream-pair.js';
