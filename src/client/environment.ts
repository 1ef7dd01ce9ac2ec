// What a command inherits when the library starts it. The server applies it: the variables are those of the machine it runs on.

import type { EnvPolicy } from '../protocol/index.js';

/** Codex's exec-server refuses a policy without these. */
const nothingMore = { ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] } satisfies Omit<EnvPolicy, 'inherit'>;

/** The core variables when the caller does not choose: few programs run without them, and none of them is secret. */
export function inheritance(policy: EnvPolicy = { inherit: 'core' }): EnvPolicy {
  return { ...nothingMore, ...policy };
}
