// Environment policy + overlay -> the child's exact environment. Pure: the parent's variables are a parameter.

import { type EnvPolicy, execError } from '../../protocol/index.js';
import { comparisonBound, globMatcher, mostComparisons } from '../../base/glob.js';

type Variables = Readonly<Record<string, string | undefined>>;

/** Variables that nearly every program needs; none of them holds a secret. */
const coreNames = new Set(['PATH', 'SHELL', 'TMPDIR', 'TEMP', 'TMP', 'HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'USER']);

/** Variables with such names tend to hold secrets; they are inherited only when the policy says so. */
const secretGlobs = ['*KEY*', '*SECRET*', '*TOKEN*'];

/**
 * Without a policy nothing is inherited: the child's environment is exactly `overlay`. Throws `invalidParams` when the globs would take too
 * long to match, since matching blocks the event loop.
 */
export function childEnvironment(
  policy: EnvPolicy | undefined,
  overlay: Readonly<Record<string, string>>,
  parent: Variables,
): Record<string, string> {
  if (policy === undefined) return { ...overlay };
  const excluded = boundedMatcher(
    [...(policy.ignoreDefaultExcludes === true ? [] : secretGlobs), ...(policy.exclude ?? [])],
    Object.keys(parent),
  );
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(parent)) {
    if (value !== undefined && isInherited(policy.inherit, name) && !excluded(name)) env[name] = value;
  }
  Object.assign(env, policy.set ?? {});
  const includeOnly = policy.includeOnly ?? [];
  if (includeOnly.length === 0) return { ...env, ...overlay };
  const included = boundedMatcher(includeOnly, Object.keys(env));
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => included(name)));
  return { ...kept, ...overlay };
}

function isInherited(inherit: EnvPolicy['inherit'], name: string): boolean {
  switch (inherit) {
    case 'all':
      return true;
    case 'core':
      return coreNames.has(name);
    case 'none':
      return false;
  }
}

function boundedMatcher(globs: readonly string[], names: readonly string[]): (name: string) => boolean {
  const bound = comparisonBound(globs, names);
  if (bound <= mostComparisons) return globMatcher(globs);
  throw execError('invalidParams', {
    problem: `the globs of envPolicy take up to ${bound} comparisons for ${names.length} variables; the limit is ${mostComparisons}`,
  });
}
