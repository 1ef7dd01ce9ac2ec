// What servers and processes are started with: as little as possible, and the same for all.

/** Without the folders that npm puts in front: each is one more place in which every program is looked for. */
export const searchPath = (process.env.PATH ?? '/usr/bin:/bin')
  .split(':')
  .filter((folder) => !folder.includes('node_modules') && !folder.includes('node-gyp-bin'))
  .join(':');

/**
 * Nothing of this user's, and no NODE_*: NODE_EXTRA_CA_CERTS alone costs Node 20 more than the rest of its start.
 * @param {string} home an empty folder
 */
export function cleanEnvironment(home) {
  return { PATH: searchPath, HOME: home, TMPDIR: home };
}

/**
 * Linux shares the processors out among sessions first. Both servers give each process a session of its own; whatever is compared with
 * them or with each other has one too, or it gets a share that depends on what else runs on this terminal.
 */
export const ownSession = { detached: true };
