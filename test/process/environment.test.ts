// Environment policy: what a child inherits, in which order the rules apply, and what no rule changes.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { childEnvironment } from '#src/process/start/environment.js';
import { isExecError } from '#src/protocol/index.js';

const parent = {
  PATH: '/bin',
  HOME: '/root',
  EDITOR: 'vi',
  API_KEY: 'k',
  Client_Secret: 's',
  github_token: 't',
  MONKEYS: '3',
  UNSET: undefined,
};

describe('what is inherited', () => {
  test('without a policy the overlay is the whole environment', () => {
    assert.deepEqual(childEnvironment(undefined, { ONLY: 'this' }, parent), { ONLY: 'this' });
  });

  test('all inherits every variable that does not look like a secret, regardless of case', () => {
    assert.deepEqual(childEnvironment({ inherit: 'all' }, {}, parent), { PATH: '/bin', HOME: '/root', EDITOR: 'vi' });
  });

  test('secrets are inherited when the policy ignores the default excludes', () => {
    assert.deepEqual(childEnvironment({ inherit: 'all', ignoreDefaultExcludes: true }, {}, parent), {
      PATH: '/bin',
      HOME: '/root',
      EDITOR: 'vi',
      API_KEY: 'k',
      Client_Secret: 's',
      github_token: 't',
      MONKEYS: '3',
    });
  });

  test('core inherits the few variables that nearly every program needs', () => {
    const names = ['PATH', 'SHELL', 'TMPDIR', 'TEMP', 'TMP', 'HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'USER'];
    const core = Object.fromEntries(names.map((name) => [name, 'x']));
    assert.deepEqual(childEnvironment({ inherit: 'core' }, {}, { ...core, EDITOR: 'vi', LC_TIME: 'C', path: 'x' }), core);
  });

  test('none inherits nothing', () => {
    assert.deepEqual(childEnvironment({ inherit: 'none' }, {}, parent), {});
  });

  test('an empty value is inherited, since it is a value', () => {
    assert.deepEqual(childEnvironment({ inherit: 'all' }, {}, { EMPTY: '' }), { EMPTY: '' });
  });

  test('a switch that is null counts as absent', () => {
    const policy = { inherit: 'all', ignoreDefaultExcludes: null, exclude: null, set: null, includeOnly: null } as const;
    assert.deepEqual(childEnvironment(policy, {}, parent), { PATH: '/bin', HOME: '/root', EDITOR: 'vi' });
  });
});

describe('order of the rules', () => {
  test('a variable that is set survives the exclusions', () => {
    const policy = { inherit: 'all', exclude: ['EDITOR'], set: { EDITOR: 'ed', API_KEY: 'mine' } } as const;
    assert.deepEqual(childEnvironment({ ...policy, exclude: [...policy.exclude] }, {}, parent), {
      PATH: '/bin',
      HOME: '/root',
      EDITOR: 'ed',
      API_KEY: 'mine',
    });
  });

  test('a variable that is set replaces the inherited one', () => {
    assert.deepEqual(childEnvironment({ inherit: 'core', set: { PATH: '/opt' } }, {}, parent), { PATH: '/opt', HOME: '/root' });
  });

  test('includeOnly also leaves out variables that were set', () => {
    const policy = { inherit: 'all' as const, set: { EXTRA: '1', EDITION: '2' }, includeOnly: ['PATH', 'EDIT*'] };
    assert.deepEqual(childEnvironment(policy, {}, parent), { PATH: '/bin', EDITOR: 'vi', EDITION: '2' });
  });

  test('an empty includeOnly leaves nothing out', () => {
    assert.deepEqual(childEnvironment({ inherit: 'core', includeOnly: [] }, {}, parent), { PATH: '/bin', HOME: '/root' });
  });

  test('the overlay wins over everything and is never filtered', () => {
    const policy = { inherit: 'all' as const, exclude: ['A*'], set: { PATH: '/set' }, includeOnly: ['PATH'] };
    const overlay = { PATH: '/overlay', API_KEY: 'given', OTHER: 'x' };
    assert.deepEqual(childEnvironment(policy, overlay, parent), overlay);
  });

  test('every variable of the overlay arrives unchanged under any policy', () => {
    const variables = fc.dictionary(fc.constantFrom('A', 'AB', 'PATH', 'HOME', 'A_KEY'), fc.string());
    const globs = fc.array(fc.constantFrom('*', '?*', 'A*', '*B', '_'));
    const policy = fc.record({
      inherit: fc.constantFrom('all' as const, 'core' as const, 'none' as const),
      ignoreDefaultExcludes: fc.boolean(),
      exclude: globs,
      set: variables,
      includeOnly: globs,
    });
    fc.assert(
      fc.property(fc.option(policy, { nil: undefined }), variables, variables, (rules, overlay, inherited) => {
        const env = childEnvironment(rules, overlay, inherited);
        assert.deepEqual(Object.fromEntries(Object.keys(overlay).map((name) => [name, env[name]])), { ...overlay });
      }),
    );
  });
});

describe('globs', () => {
  const kept = (glob: string, names: readonly string[]) =>
    Object.keys(
      childEnvironment({ inherit: 'all', includeOnly: [glob] }, {}, Object.fromEntries(names.map((name) => [name, '']))),
    );

  test('a star matches any run of characters, including none', () => {
    assert.deepEqual(kept('A*Z', ['AZ', 'ABZ', 'A_B_Z', 'AZA', 'XAZ']), ['AZ', 'ABZ', 'A_B_Z']);
  });

  test('a question mark matches exactly one character', () => {
    assert.deepEqual(kept('A?', ['A', 'AB', 'ABC']), ['AB']);
  });

  test('case does not matter', () => {
    assert.deepEqual(kept('lc_*', ['LC_ALL', 'Lc_Time', 'XLC_ALL']), ['LC_ALL', 'Lc_Time']);
  });

  test('special characters of regular expressions match literally', () => {
    assert.deepEqual(kept('A.B+(x)[1]', ['A.B+(x)[1]', 'AxB+(x)[1]', 'A.BB(x)1']), ['A.B+(x)[1]']);
  });

  test('a name matches as a whole, line feeds included', () => {
    assert.deepEqual(kept('A*B', ['A\nB', 'A\nB\nC']), ['A\nB']);
  });

  test('a glob with many stars is matched quickly, even when it does not match', () => {
    const long = 'a'.repeat(10_000);
    assert.deepEqual(kept(`${'*a'.repeat(100)}*b`, [long, `${long}b`]), [`${long}b`]);
  });

  test('globs and names that would take too many comparisons are refused with the numbers', () => {
    const words = (count: number) => Array.from({ length: count }, (_, index) => `N${index}`);
    const set = Object.fromEntries(words(10_000).map((name) => [name, '']));
    assert.throws(
      () => childEnvironment({ inherit: 'none', set, includeOnly: words(10_000) }, {}, {}),
      (error) => isExecError(error, 'invalidParams') && /\d comparisons for 10000 variables/.test(error.message),
    );
    assert.throws(
      () => childEnvironment({ inherit: 'all', exclude: [`*${'a'.repeat(2 ** 26)}b`] }, {}, { AA: '' }),
      /comparisons/,
    );
  });
});
