// How `sluice serve` reads flags, environment and config file.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { ServeConfig } from '#src/cli/serve/config.js';
import { envNameOf, fileNameOf, limitFlag, limitNames } from '#src/cli/serve/options.js';
import { defaultLimits } from '#src/server/index.js';
import { configFile, refuses, serve } from './serve-command.js';

const digest = 'ab'.repeat(32);

describe('without any settings', () => {
  test('it serves this machine on a free port, with every limit at its default', () => {
    assert.deepEqual(serve([]), {
      listen: [{ kind: 'websocket', isSecure: false, host: '127.0.0.1', port: 0 }],
      tls: undefined,
      credentials: { kind: 'none' },
      allowedOrigins: [],
      allowedHosts: [],
      policy: { allowDirectExec: true, allowPreparedExec: true },
      files: { access: 'write' },
      network: { forward: 'off', http: 'on', hosts: [] },
      metricsAccess: 'guarded',
      logLevel: 'info',
      idleExitMs: 0,
      limits: defaultLimits,
      warnings: [],
    });
  });
});

describe('what callers may reach', () => {
  test('is narrowed to folders, to reading, or to nothing', () => {
    assert.deepEqual(serve(['--root', '/srv', '--root', '/data/', '--read-only-files']).files, {
      roots: ['/srv', '/data'],
      access: 'read',
    });
    assert.deepEqual(serve(['--no-files']).files, { access: 'none' });
    assert.throws(() => serve(['--no-files', '--root', '/srv']), /--root needs files, which --no-files turns off/);
  });

  test('is widened to ports, and to hosts by name', () => {
    const words = ['--allow-forward', '--no-http', '--reach', 'db.internal:5432', '--reach', 'example.com'];
    assert.deepEqual(serve(words).network, { forward: 'on', http: 'off', hosts: ['db.internal:5432', 'example.com'] });
  });
});

describe('of flags, environment and file', () => {
  test('each limit can be set by all three, and the first of them wins', () => {
    const layer = fc.option(fc.integer({ min: 1, max: 900 }), { nil: undefined });
    // The window and the cap of stdin depend on each other; the readers' window is never so small.
    const isFree = (name: string) => !name.startsWith('stdin') && name !== 'readerWindowBytes';
    const limit = fc.constantFrom(...limitNames.filter(isFree));
    fc.assert(
      fc.property(limit, fc.record({ flag: layer, env: layer, file: layer }), (name, given) => {
        const flag = limitFlag(name);
        const args = given.flag === undefined ? [] : [`--${flag}`, String(given.flag)];
        const env = given.env === undefined ? {} : { [envNameOf(flag)]: String(given.env) };
        const file = given.file === undefined ? {} : { [fileNameOf(flag)]: given.file };
        const { limits } = serve(args, { env, file });
        assert.deepEqual(limits, { ...defaultLimits, [name]: given.flag ?? given.env ?? given.file ?? defaultLimits[name] });
      }),
    );
  });

  test('lists, toggles and texts follow the same order', () => {
    const file = { listen: ['ws://127.0.0.1:1', 'stdio'], directExec: false, logLevel: 'debug', allowHost: 'file.example' };
    const env = { SLUICE_LISTEN: 'ws://127.0.0.1:2, unix:///run/s.sock', SLUICE_DIRECT_EXEC: 'true', SLUICE_LOG_LEVEL: 'warn' };
    const pick = ({ listen, policy, logLevel, allowedHosts }: ServeConfig) => [
      listen.map((bind) => (bind.kind === 'websocket' ? bind.port : bind.kind)),
      policy.allowDirectExec,
      logLevel,
      allowedHosts,
    ];
    assert.deepEqual(pick(serve([], { file })), [[1, 'stdio'], false, 'debug', ['file.example']]);
    assert.deepEqual(pick(serve([], { file, env })), [[2, 'unix'], true, 'warn', ['file.example']]);
    const args = [
      '--listen',
      'ws://127.0.0.1:3',
      '--no-direct-exec',
      '--log-level=error',
      '--allow-host',
      'a',
      '--allow-host=b:1',
    ];
    assert.deepEqual(pick(serve(args, { file, env })), [[3], false, 'error', ['a', 'b:1']]);
  });

  test('the file may be named by the environment, and paths in it are relative to its folder', () => {
    const { credentials } = serve([], { env: { SLUICE_CONFIG: configFile }, file: { tokenFile: ['token', '/run/token'] } });
    assert.deepEqual(credentials, { kind: 'tokens', files: ['/etc/sluice/token', '/run/token'], sha256: [] });
  });

  test('the last of repeated flags wins, unless it is a list', () => {
    assert.equal(serve(['--max-connections', '1', '--max-connections', '2']).limits.maxConnections, 2);
    assert.equal(serve(['--config', '/earlier.json'], { file: { maxConnections: 3 } }).limits.maxConnections, 3);
  });

  test('sizes can have units', () => {
    const { limits } = serve(['--retained-bytes', '2MiB', '--head-bytes', '1 KiB', '--max-message-bytes', '100'], {
      env: { SLUICE_MAX_CLOSED_BYTES: '1GiB' },
    });
    assert.deepEqual(
      [limits.retainedBytes, limits.headBytes, limits.maxMessageBytes, limits.maxClosedBytes],
      [2 * 1024 ** 2, 1024, 100, 1024 ** 3],
    );
  });
});

describe('addresses', () => {
  test('are read in every form', () => {
    const args = ['ws://127.0.0.1:0', 'ws://[::1]:4500/', 'unix:///run/user/1/s.sock', 'stdio'].flatMap((url) => [
      '--listen',
      url,
    ]);
    assert.deepEqual(serve(args).listen, [
      { kind: 'websocket', isSecure: false, host: '127.0.0.1', port: 0 },
      { kind: 'websocket', isSecure: false, host: '::1', port: 4500 },
      { kind: 'unix', path: '/run/user/1/s.sock' },
      { kind: 'stdio' },
    ]);
    assert.deepEqual(serve(['--listen', 'stdio://']).listen, [{ kind: 'stdio' }]);
  });

  test('in another form are refused, with the expected form', () => {
    for (const url of [
      'ws://localhost:1',
      'ws://127.0.0.1',
      'ws://127.0.0.1:65536',
      'ws://::1:1',
      'ws://[127.0.0.1]:1',
      'ws://127.0.0.1:1/x',
    ]) {
      refuses(/^--listen: invalid listen URL "ws:.*expected an IP address and a port, as in ws:\/\/127\.0\.0\.1:4500/, [
        '--listen',
        url,
      ]);
    }
    refuses(/unsupported listen URL "http:\/\/127\.0\.0\.1:1"; expected ws:\/\/IP:PORT/, ['--listen', 'http://127.0.0.1:1']);
    refuses(/expected unix:\/\/ and an absolute path/, ['--listen', 'unix://relative']);
    refuses(/at most 107 bytes, this one has 121/, ['--listen', `unix:///${'x'.repeat(120)}`]);
    refuses(/^SLUICE_LISTEN names stdio twice/, [], { env: { SLUICE_LISTEN: 'stdio,stdio' } });
  });

  test('that other users can reach need credentials', () => {
    refuses(/refusing to listen on ws:\/\/0\.0\.0\.0:4500 without credentials.*--token-file/, ['--listen', 'ws://0.0.0.0:4500']);
    assert.equal(serve(['--listen', 'ws://0.0.0.0:4500', '--token-sha256', digest]).credentials.kind, 'tokens');
  });

  test('with wss need a certificate and its key, and a certificate needs wss', () => {
    const [wss, cert, key] = [
      ['--listen', 'wss://127.0.0.1:1'],
      ['--tls-cert', 'c.pem'],
      ['--tls-key', 'k.pem'],
    ];
    assert.deepEqual(serve([...wss, ...cert, ...key]).tls, { certFile: 'c.pem', keyFile: 'k.pem' });
    refuses(/needs --tls-cert and --tls-key/, wss);
    refuses(/--tls-cert needs --tls-key/, [...wss, ...cert]);
    refuses(/SLUICE_TLS_KEY needs --tls-cert/, wss, { env: { SLUICE_TLS_KEY: 'k.pem' } });
    refuses(/--tls-cert is not used by any listener/, [...cert, ...key]);
  });
});

describe('credentials', () => {
  test('are tokens, from files and by digest together', () => {
    assert.deepEqual(serve(['--token-file', 'a', '--token-file', 'b', '--token-sha256', digest]).credentials, {
      kind: 'tokens',
      files: ['a', 'b'],
      sha256: [digest],
    });
  });

  test('or JWTs, signed one way or the other', () => {
    assert.deepEqual(
      serve(['--jwt-secret-file', 's', '--jwt-issuer', 'me', '--jwt-audience', 'sluice', '--jwt-skew-seconds', '0']).credentials,
      {
        kind: 'jwt',
        key: { algorithm: 'HS256', secretFile: 's' },
        issuer: 'me',
        audience: 'sluice',
        skewSeconds: 0,
      },
    );
    assert.deepEqual(serve(['--jwt-public-key-file', 'k']).credentials, {
      kind: 'jwt',
      key: { algorithm: 'EdDSA', publicKeyFile: 'k' },
      issuer: undefined,
      audience: undefined,
      skewSeconds: 30,
    });
  });

  test('that contradict each other, or rules without a key, are refused', () => {
    refuses(/^SLUICE_TOKEN_FILE and --jwt-secret-file exclude each other/, ['--jwt-secret-file', 's'], {
      env: { SLUICE_TOKEN_FILE: 't' },
    });
    refuses(/--jwt-secret-file and "jwtPublicKeyFile" in .* exclude each other/, ['--jwt-secret-file', 's'], {
      file: { jwtPublicKeyFile: 'k' },
    });
    refuses(/--jwt-issuer needs --jwt-secret-file or --jwt-public-key-file/, ['--jwt-issuer', 'me', '--token-file', 't']);
  });

  test('are not echoed when they are given in the wrong place', () => {
    for (const args of [['--token-sha256', 'hunter2'], ['--token', 'hunter2'], ['--token=hunter2']]) {
      assert.throws(
        () => serve(args),
        (error: Error) => !error.message.includes('hunter2'),
      );
    }
    assert.throws(
      () => serve([], { file: 'hunter2' }),
      (error: Error) => error.message.includes('is not valid JSON') && !error.message.includes('hunter2'),
    );
  });
});
