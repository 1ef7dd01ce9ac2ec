// Compositions that need both sides.

export { connectInProcess } from './in-process.js';
