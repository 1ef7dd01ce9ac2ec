// The environment of servers and processes: as little as possible, and the same for all.

/** Without the folders that npm prepends: each is one more place where every program is searched for. */
export const searchPath = (process.env.PATH ?? '/usr/bin:/bin')
  .split(':')
  .filter((folder) => !folder.includes('node_modules') && !folder.includes('node-gyp-bin'))
  .join(':');

/**
 * None of this user's variables, and no NODE_*: NODE_EXTRA_CA_CERTS alone costs Node 20 more than the rest of its start.
 * @param {string} home an empty folder
 */
export function cleanEnvironment(home) {
  return { PATH: searchPath, HOME: home, TMPDIR: home };
}

/**
 * Linux divides the processors among sessions first. Both servers give each process its own session, so everything that is compared with
 * them or with each other has one too; otherwise its share would depend on what else runs on this terminal.
 */
export const ownSession = { detached: true };
