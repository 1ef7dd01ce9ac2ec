// What a client can do on this machine through Node. The code is loaded when it is first used.

import type { Platform } from '../client/index.js';

export const nodePlatform: Platform = {
  listen: async (at, accept) => (await import('./local-listener.js')).listen(at, accept),
  files: async () => (await import('./node-files.js')).nodeFiles,
};
