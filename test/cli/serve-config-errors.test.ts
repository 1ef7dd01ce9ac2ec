// How `sluice serve` reports what it does not understand.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readWords } from '#src/cli/read-words.js';
import { commandHelp } from '#src/cli/help.js';
import { readServeConfig } from '#src/cli/serve/config.js';
import { serveManual } from '#src/cli/serve/manual.js';
import { envNameOf, limitFlag, limitNames, serveOptions } from '#src/cli/serve/options.js';
import { defaultLimits } from '#src/server/index.js';
import { type Given, refuses, serve } from './serve-command.js';

describe('a mistake', () => {
  test('is reported together with what would be right', () => {
    const cases: readonly [RegExp, readonly string[], Given?][] = [
      [/^unknown option "--max-conections"; did you mean --max-connections\?/, ['--max-conections', '5']],
      [/^unknown option "--no-direct-exce"; did you mean --no-direct-exec\?/, ['--no-direct-exce']],
      [/^unknown option "--no-listen"/, ['--no-listen']],
      [/^unknown option "-x"; "sluice serve --help" lists all options$/, ['-x']],
      [/^serve takes no argument "ws:\/\/127\.0\.0\.1:1"; use --listen for an address$/, ['ws://127.0.0.1:1']],
      [/^--token-file needs a value, as in --token-file FILE$/, ['--token-file', '--log-level', 'info']],
      [/^--token-file needs a value/, ['--token-file']],
      [/^--token-file needs a value/, ['--token-file=']],
      [/^--direct-exec takes no value, got "no"; use --direct-exec or --no-direct-exec$/, ['--direct-exec=no']],
      [/^--max-connections must be a whole number from 1 to \d+, got "many"$/, ['--max-connections', 'many']],
      [/^--max-connections must be .* got "0"$/, ['--max-connections', '0']],
      [/^--max-connections must be .* got "-1"$/, ['--max-connections=-1']],
      [/^--max-connections must be .* got "1\.5"$/, ['--max-connections', '1.5']],
      [/^--max-connections must be .* got "1KiB"$/, ['--max-connections', '1KiB']],
      [/^--retained-bytes must be .* KiB, MiB or GiB, .* got "1kb"$/, ['--retained-bytes', '1kb']],
      [/^--detach-grace-ms must be a whole number from 0 to 2073600000, got "9999999999"$/, ['--detach-grace-ms', '9999999999']],
      [
        /^--jwt-skew-seconds must be a whole number from 0 to 3600, got "86400"$/,
        ['--jwt-secret-file', 's', '--jwt-skew-seconds', '86400'],
      ],
      [
        /^--stdin-window-bytes must not exceed --stdin-cap-bytes, got 2 and 1$/,
        ['--stdin-window-bytes', '2', '--stdin-cap-bytes', '1'],
      ],
      [/^--log-level must be one of debug, info, warn, error, silent, got "loud"$/, ['--log-level', 'loud']],
      [/^--allow-origin: an allowed origin must be exact.*got "\*"$/, ['--allow-origin', '*']],
      [/^--allow-host: an allowed host must be a name.*got "http:\/\/x"$/, ['--allow-host', 'http://x']],
      [/^SLUICE_DIRECT_EXEC must be true or false, got "maybe"$/, [], { env: { SLUICE_DIRECT_EXEC: 'maybe' } }],
      [/^SLUICE_TOKEN_FILE is empty; give it a value or leave it out$/, [], { env: { SLUICE_TOKEN_FILE: '' } }],
      [/^SLUICE_LISTEN is empty/, [], { env: { SLUICE_LISTEN: 'stdio,' } }],
      [/: unknown setting "maxConections"; did you mean maxConnections\?$/, [], { file: { maxConections: 5 } }],
      [/: unknown setting "config"/, [], { file: { config: 'other.json' } }],
      [/^"maxConnections" in \/etc\/sluice\/config\.json must be .* got "true"$/, [], { file: { maxConnections: true } }],
      [/^"logLevel" in .* takes one value, got a list of 2$/, [], { file: { logLevel: ['info', 'warn'] } }],
      [/^"listen" in .* is empty/, [], { file: { listen: [] } }],
      [/"maxConnections" must be a string, number, boolean or list of strings$/, [], { file: { maxConnections: { a: 1 } } }],
      [/^config file ".*": it must contain an object$/, [], { file: '5' }],
      [/^config file ".*": it must contain an object$/, [], { file: '["listen"]' }],
      [/^config file ".*" is not valid JSON at position 7$/, [], { file: '{"a": 1' }],
    ];
    for (const [problem, args, given] of cases) refuses(problem, args, given);
  });

  test('such as an unreadable config file is reported with the reason', () => {
    const readText = () => {
      throw new Error('ENOENT: no such file');
    };
    assert.throws(
      () => readServeConfig({ words: readWords(serveManual, ['--config', 'x.json']), env: {}, readText }),
      /^Error: config file "x\.json" cannot be read: ENOENT/,
    );
  });

  test('in the name of a variable only gives a warning', () => {
    const { warnings } = serve([], {
      env: { SLUICE_MAX_CONECTIONS: '5', SLUICE_OTHER: 'x', SLUICE_URL: 'ws://x', HOME: '/root' },
    });
    assert.deepEqual(warnings, [
      'environment variable SLUICE_MAX_CONECTIONS is not a setting of serve; did you mean SLUICE_MAX_CONNECTIONS?',
      'environment variable SLUICE_OTHER is not a setting of serve',
    ]);
  });
});

describe('the help', () => {
  const text = commandHelp(serveManual);

  test('is shown whatever else is on the command line', () => {
    assert.deepEqual(readWords(serveManual, ['-h', '--nonsense']), [{ kind: 'help' }]);
    assert.deepEqual(readWords(serveManual, ['--max-connections', 'x', '--help']), [{ kind: 'help' }]);
  });

  test('shows every option with its variable and every limit with its default', () => {
    for (const [flag, option] of serveOptions) {
      assert.match(text, new RegExp(`^  .*--(?:\\[no-\\])?${flag}\\b`, 'm'));
      assert.ok(text.includes(`[${envNameOf(flag)}]`), flag);
      if (option.default !== undefined) assert.match(text, new RegExp(`Default:\\s+${option.default}\\.`), flag);
    }
    assert.match(text, /--retained-bytes BYTES .*Default: 1MiB\.\s+\[SLUICE_RETAINED_BYTES\]/);
    assert.match(text, /--\[no-\]direct-exec\s/);
  });

  test('knows every limit of the server', () => {
    assert.deepEqual(new Set<string>(limitNames), new Set(Object.keys(defaultLimits)));
  });

  test('shows defaults that are valid values', () => {
    const args = limitNames.flatMap((name) => [`--${limitFlag(name)}`, serveOptions.get(limitFlag(name))?.default ?? '']);
    assert.deepEqual(serve(args).limits, defaultLimits);
  });

  test('fits a terminal of 120 columns', () => {
    assert.deepEqual(
      text.split('\n').filter((line) => line.length > 120),
      [],
    );
  });
});
