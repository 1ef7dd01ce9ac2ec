// Environment policy + overlay -> the child's exact environment. Pure: the parent's variables are handed in.

import type { EnvPolicy } from '../protocol/index.js';

type Variables = Readonly<Record<string, string | undefined>>;

/** What nearly every program wants and nothing secret. */
const coreNames = new Set(['PATH', 'SHELL', 'TMPDIR', 'TEMP', 'TMP', 'HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'USER']);

/** Names that tend to hold secrets; inherited only when the policy says so. */
const secretGlobs = ['*KEY*', '*SECRET*', '*TOKEN*'];

/** Without a policy nothing is inherited: the child sees `overlay` and nothing else. */
export function childEnvironment(
  policy: EnvPolicy | undefined,
  overlay: Readonly<Record<string, string>>,
  parent: Variables,
): Record<string, string> {
  if (policy === undefined) return { ...overlay };
  const excluded = globMatcher([...(policy.ignoreDefaultExcludes === true ? [] : secretGlobs), ...(policy.exclude ?? [])]);
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(parent)) {
    if (value !== undefined && isInherited(policy.inherit, name) && !excluded(name)) env[name] = value;
  }
  Object.assign(env, policy.set ?? {});
  const includeOnly = policy.includeOnly ?? [];
  if (includeOnly.length === 0) return { ...env, ...overlay };
  const included = globMatcher(includeOnly);
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

/** True for names that match one of the globs (`*` any run, `?` one character); case does not matter. */
function globMatcher(globs: readonly string[]): (name: string) => boolean {
  const patterns = globs.map((glob) => {
    const source = glob
      .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.');
    return new RegExp(`^${source}$`, 'is');
  });
  return (name) => patterns.some((pattern) => pattern.test(name));
}
