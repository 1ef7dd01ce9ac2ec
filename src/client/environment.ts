// What a command inherits when the library starts it. The server applies the policy, to the variables of its own machine.

import type { EnvPolicy } from '../protocol/index.js';

/** Codex's exec-server rejects a policy without these members. */
const nothingMore = { ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] } satisfies Omit<EnvPolicy, 'inherit'>;

/** Defaults to the core variables: few programs run without them, and none of them is secret. */
export function inheritance(policy: EnvPolicy = { inherit: 'core' }): EnvPolicy {
  return { ...nothingMore, ...policy };
}
