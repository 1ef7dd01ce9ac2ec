// What a log shows of a command.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shownArgv } from '#src/runner/shown-argv.js';

const nothing = { prompt: 'no such prompt', env: {} };

describe('a command in a log', () => {
  test('is shown unchanged when nothing is secret', () => {
    const argv = ['claude', '--print', '--model', 'opus', '--max-tokens', '100', '--allowedTools', 'Bash(git:*)', '/a/b=c', ''];
    assert.deepEqual(shownArgv(argv, nothing), argv);
  });

  test('has a placeholder for the prompt, which is logged in its own event', () => {
    assert.deepEqual(shownArgv(['claude', '--', 'fix it'], { ...nothing, prompt: 'fix it' }), ['claude', '--', '<prompt>']);
  });

  const hidden: readonly [string, readonly string[], readonly string[]][] = [
    ['the value of an option with a secret name', ['--api-key', 'abc', '-x'], ['--api-key', '***', '-x']],
    ['the value after an equals sign', ['--auth-token=abc', 'GITHUB_TOKEN=abc def'], ['--auth-token=***', 'GITHUB_TOKEN=***']],
    ['members of JSON', ['{"env":{"API_KEY":"a\\"b","PATH":"/bin"}}'], ['{"env":{"API_KEY":"***","PATH":"/bin"}}']],
    ['members of TOML', ['-c', 'provider={api_key = "abc", url="u"}'], ['-c', 'provider={api_key = "***", url="u"}']],
    ['headers', ['X-Header: Bearer abc.def-1'], ['X-Header: Bearer ***']],
    ['passwords in addresses', ['https://me:hunter2@host/x'], ['https://me:***@host/x']],
    ['keys with a recognisable prefix', ['use sk-ant-REDACTED please'], ['use *** please']],
    ['signed tokens', ['x eyJhbGciOi.eyJzdWIiOi.c2ln y'], ['x *** y']],
  ];
  for (const [what, argv, expected] of hidden) {
    test(`does not show ${what}`, () => assert.deepEqual(shownArgv(argv, nothing), expected));
  }

  test('does not show the value of a secret variable of the program, wherever it occurs', () => {
    const env = { MY_SECRET: 'correct horse', SHORT_KEY: 'abc', PATH: '/usr/bin' };
    assert.deepEqual(shownArgv(['-u', 'me@correct horse!', 'abc', '/usr/bin'], { ...nothing, env }), [
      '-u',
      'me@***!',
      'abc',
      '/usr/bin',
    ]);
  });

  test('is shown quickly, whatever its arguments contain', () => {
    const lengthy = 100_000;
    for (const piece of ['a', 'eyJ-', 'key', 'sk-', 'a://', 'bearer ', '"', 'key=', 'token: '])
      assert.equal(shownArgv([piece.repeat(lengthy / piece.length)], nothing).length, 1);
  });
});
