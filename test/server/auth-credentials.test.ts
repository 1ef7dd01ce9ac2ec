// Loading credentials, and authenticating callers with them.

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type CredentialSource, authenticate, loadCredentials } from '#src/server/auth/credentials.js';
import { edDsa, hs256, keys, now, publicKeyPem, scratchFolder, secret } from './auth-tokens.js';

const nowMs = now * 1000;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const tokens = (files: readonly string[], digests: readonly string[] = []): CredentialSource => ({
  kind: 'tokens',
  files,
  sha256: digests,
});
const jwt = (key: Extract<CredentialSource, { kind: 'jwt' }>['key']): CredentialSource => ({ kind: 'jwt', key, skewSeconds: 30 });

describe('tokens', () => {
  test('from a file and tokens given by their digest are all accepted', async () => {
    using folder = scratchFolder();
    const file = folder.write('tokens', '\nfirst-token-of-all\r\n  second-token-of-all  \n\n');
    const credentials = await loadCredentials(tokens([file], [sha256('third-token').toUpperCase()]));
    for (const token of ['first-token-of-all', 'second-token-of-all', 'third-token']) {
      assert.deepEqual(authenticate(credentials, token, nowMs), {
        ok: true,
        identity: { subject: `token:${sha256(token).slice(0, 8)}` },
      });
    }
  });

  test('that are missing, empty, wrong, truncated or in different case are refused', async () => {
    const credentials = await loadCredentials(tokens([], [sha256('right-token')]));
    for (const token of [undefined, '', 'wrong', 'right-toke', 'right-token ', 'Right-token', sha256('right-token')]) {
      assert.equal(authenticate(credentials, token, nowMs).ok, false, String(token));
    }
  });

  test('are read once: later changes to the file have no effect', async () => {
    using folder = scratchFolder();
    const credentials = await loadCredentials(tokens([folder.write('tokens', 'old-token-of-today')]));
    folder.write('tokens', 'new-token-of-today');
    assert.deepEqual(
      [authenticate(credentials, 'old-token-of-today', nowMs).ok, authenticate(credentials, 'new-token-of-today', nowMs).ok],
      [true, false],
    );
  });

  test('are kept as digests only', async () => {
    using folder = scratchFolder();
    const credentials = await loadCredentials(tokens([folder.write('tokens', 'plain-token-of-today')]));
    assert.deepEqual(credentials, { kind: 'tokens', digests: [createHash('sha256').update('plain-token-of-today').digest()] });
  });

  test('and signatures are compared in constant time', () => {
    const source = (name: string) => readFileSync(new URL(`../../src/server/auth/${name}.ts`, import.meta.url), 'utf8');
    assert.match(source('credentials'), /timingSafeEqual\(digest, candidate\)/);
    assert.match(source('jwt'), /timingSafeEqual\(signature, expected\)/);
    for (const name of ['credentials', 'jwt', 'gate']) {
      assert.doesNotMatch(source(name), /(?:digest|signature|\btoken)\w* [=!]==? (?!undefined|'')/, name);
    }
  });

  test('that are missing or malformed fail to load, and the error does not quote a secret', async () => {
    using folder = scratchFolder();
    const cases: readonly [CredentialSource, RegExp][] = [
      [tokens([folder.write('empty', ' \n\n')]), /token file ".*empty" is empty/],
      [tokens([folder.write('spaced', 'a-token-of-length\nhunter2 hunter2')]), /"[^"]*spaced", line 2: .*printable ASCII/],
      [tokens([folder.write('umlaut', 'hunter2hunter2hunter2ü')]), /line 1: .*printable ASCII/],
      [
        tokens([folder.write('short', '\n0123456789abcdef\nhunter2-hunter2\n')]),
        /line 3: .* at least 16 characters, .*; got 15 characters$/,
      ],
      [tokens(['/no/such/file']), /cannot read token file "\/no\/such\/file": ENOENT/],
      [tokens([], ['hunter2']), /64 hexadecimal digits, got 7 characters/],
      [tokens([]), /no token is configured/],
    ];
    for (const [source, problem] of cases) {
      await assert.rejects(
        loadCredentials(source),
        (error: Error) => problem.test(error.message) && !error.message.includes('hunter2'),
      );
    }
  });
});

describe('keys for JWTs', () => {
  test('are a shared secret, without the trailing line feed of an editor, or a public key', async () => {
    using folder = scratchFolder();
    const shared = await loadCredentials(jwt({ algorithm: 'HS256', secretFile: folder.write('secret', `${secret}\n`) }));
    const asymmetric = await loadCredentials(jwt({ algorithm: 'EdDSA', publicKeyFile: folder.write('key', publicKeyPem) }));
    assert.deepEqual(authenticate(shared, hs256(), nowMs), { ok: true, identity: { subject: 'jwt:alice' } });
    assert.deepEqual(authenticate(asymmetric, edDsa(), nowMs), { ok: true, identity: { subject: 'jwt:alice' } });
    assert.equal(authenticate(asymmetric, hs256({}, publicKeyPem), nowMs).ok, false);
  });

  test('made of random bytes keep every byte, including a trailing line feed', async () => {
    using folder = scratchFolder();
    const bytes = Buffer.concat([Buffer.from([0xff]), randomBytes(30), Buffer.from('\n')]);
    const credentials = await loadCredentials(jwt({ algorithm: 'HS256', secretFile: folder.write('secret', bytes) }));
    assert.equal(credentials.kind === 'jwt' && credentials.key.symmetricKeySize, 32);
  });

  test('that would be unsafe are refused', async () => {
    using folder = scratchFolder();
    const privatePem = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const rsaPem = generateKeyPairSync('rsa', { modulusLength: 2048 })
      .publicKey.export({ type: 'spki', format: 'pem' })
      .toString();
    const cases: readonly [CredentialSource, RegExp][] = [
      [jwt({ algorithm: 'HS256', secretFile: folder.write('short', 'x'.repeat(31)) }), /at least 32 bytes, got 31/],
      [jwt({ algorithm: 'HS256', secretFile: folder.write('padded', `${'x'.repeat(31)}\n\n`) }), /got 31/],
      [jwt({ algorithm: 'HS256', secretFile: folder.write('pem', publicKeyPem) }), /contains a PEM key/],
      [jwt({ algorithm: 'EdDSA', publicKeyFile: folder.write('private', privatePem) }), /contains a private key/],
      [jwt({ algorithm: 'EdDSA', publicKeyFile: folder.write('rsa', rsaPem) }), /must contain an Ed25519 key, got rsa/],
      [jwt({ algorithm: 'EdDSA', publicKeyFile: folder.write('garbage', 'garbage') }), /public key in PEM/],
      [jwt({ algorithm: 'EdDSA', publicKeyFile: '/no/such/key' }), /cannot read JWT public key file "\/no\/such\/key"/],
    ];
    for (const [source, problem] of cases) await assert.rejects(loadCredentials(source), problem);
  });

  test('are not used to check a token of unreasonable length', async () => {
    using folder = scratchFolder();
    const credentials = await loadCredentials(jwt({ algorithm: 'HS256', secretFile: folder.write('secret', secret) }));
    const huge = hs256({ claims: { padding: 'x'.repeat(100_000) } });
    assert.deepEqual(authenticate(credentials, huge, nowMs), { ok: false, problem: 'the token is longer than 8192 characters' });
  });

  test('do not authenticate a subject of unreasonable length', async () => {
    using folder = scratchFolder();
    const credentials = await loadCredentials(jwt({ algorithm: 'HS256', secretFile: folder.write('secret', secret) }));
    assert.equal(authenticate(credentials, hs256({ claims: { sub: 'x'.repeat(513) } }), nowMs).ok, false);
  });
});

test('without credentials, all callers have the same identity', () => {
  assert.deepEqual(authenticate({ kind: 'none' }, 'any-token', nowMs), { ok: true, identity: { subject: 'anybody' } });
});
