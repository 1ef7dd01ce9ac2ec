// Signed tokens: which are accepted, and that every way of forging one is refused.

import assert from 'node:assert/strict';
import { createPublicKey, createSecretKey, generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type JwtRules, checkJwt } from '#src/server/auth/jwt.js';
import { type JwtParts, edDsa, encoded, hs256, keys, now, publicKeyPem, secret, signedPart } from './auth-tokens.js';

const shared: JwtRules = { algorithm: 'HS256', key: createSecretKey(Buffer.from(secret)), skewSeconds: 30 };
const asymmetric: JwtRules = { algorithm: 'EdDSA', key: keys.publicKey, skewSeconds: 30 };
const alice = { ok: true, subject: 'alice' };

const check = (token: string, rules: JwtRules = shared) => checkJwt(rules, token, now * 1000);

function refuses(token: string, problem: RegExp, rules: JwtRules = shared): void {
  const checked = check(token, rules);
  assert.ok(!checked.ok);
  assert.match(checked.problem, problem);
}

describe('a JWT', () => {
  test('signed with the shared secret or with the private key identifies the caller', () => {
    assert.deepEqual(check(hs256()), alice);
    assert.deepEqual(check(edDsa(), asymmetric), alice);
  });

  test('without a subject is accepted', () => {
    assert.deepEqual(check(hs256({ claims: { sub: undefined } })), { ok: true, subject: '' });
  });

  test('with alg "none" is refused, with a signature or without', () => {
    const signed = signedPart({ alg: 'none' });
    for (const token of [`${signed}.`, signed, `${signed}.AAAA`, hs256({ header: { alg: 'none' } })]) {
      refuses(token, /not signed with HS256|not a signed JWT/);
      refuses(token, /not signed with EdDSA|not a signed JWT/, asymmetric);
    }
  });

  test('signed with HS256 and the public key in place of a secret is refused', () => {
    const der = createPublicKey(publicKeyPem).export({ type: 'spki', format: 'der' }).toString('latin1');
    for (const key of [publicKeyPem, publicKeyPem.trim(), der]) {
      refuses(hs256({}, key), /not signed with EdDSA/, asymmetric);
      refuses(hs256({ header: { alg: 'EdDSA' } }, key), /signature/, asymmetric);
    }
  });

  test('that names another algorithm, or this one in different case, is refused', () => {
    for (const alg of ['HS512', 'RS256', 'EdDSA', 'hs256', 'HS256 ', '', undefined, 0, ['HS256']]) {
      refuses(hs256({ header: { alg } }), /not signed with HS256|not a signed JWT/);
    }
  });

  test('signed with another key is refused', () => {
    refuses(hs256({}, `${secret}x`), /signature/);
    refuses(edDsa({}, generateKeyPairSync('ed25519').privateKey), /signature/, asymmetric);
  });

  test('may have the type JWT, an access token type, or no type', () => {
    for (const typ of ['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/jwt', 'application/at+jwt', undefined]) {
      assert.deepEqual(check(hs256({ header: { typ } })), alice, String(typ));
    }
  });

  test('that was signed for another purpose is refused', () => {
    for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'JOSE', 'at+jwt ', 'text/jwt', 'xjwt', '']) {
      refuses(hs256({ header: { typ } }), /type/);
    }
    for (const typ of [null, 5, ['JWT']]) refuses(hs256({ header: { typ } }), /not a signed JWT/);
  });

  test('that requires an extension is refused', () => {
    for (const crit of [['b64'], ['exp'], [], null, 'b64']) refuses(hs256({ header: { crit, b64: false } }), /crit/);
  });

  test('with its own key in the header is still checked against the configured key', () => {
    const own = generateKeyPairSync('ed25519');
    const jwk = own.publicKey.export({ format: 'jwk' });
    refuses(
      edDsa({ header: { jwk, kid: '../../dev/null', jku: 'http://example.com' } }, own.privateKey),
      /signature/,
      asymmetric,
    );
  });

  test('is refused with any character changed', () => {
    const tokens = [
      { token: hs256(), rules: shared },
      { token: edDsa(), rules: asymmetric },
    ];
    for (const { token, rules } of tokens) {
      for (let at = 0; at < token.length; at += 1) {
        for (const letter of ['A', 'B', '.', '=', '+', ' ']) {
          if (token[at] === letter) continue;
          assert.equal(check(token.slice(0, at) + letter + token.slice(at + 1), rules).ok, false, `character ${at}`);
        }
      }
    }
  });

  test('is refused with characters added or removed', () => {
    const token = hs256();
    for (const other of [
      `${token}.`,
      `.${token}`,
      `${token}=`,
      `${token}\n`,
      ` ${token}`,
      token.slice(0, -1),
      '',
      '.',
      '..',
      '...',
    ]) {
      assert.equal(check(other).ok, false, JSON.stringify(other));
    }
  });

  test('whose parts are not JSON objects is refused', () => {
    for (const header of [null, [], 'x', 5]) refuses(`${encoded(header)}.${encoded({})}.AAAA`, /not a signed JWT/);
    const head = encoded({ alg: 'HS256' });
    assert.equal(check(`${head}.${Buffer.from([0xff]).toString('base64url')}.`).ok, false);
  });

  test('is never accepted by chance for arbitrary input', () => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), (token) => !check(token).ok && !check(token, asymmetric).ok));
  });
});

describe('the times in a JWT', () => {
  const cases: readonly [string, JwtParts['claims'], RegExp | undefined][] = [
    ['expired within the skew is accepted', { exp: now - 29 }, undefined],
    ['expired by the skew is refused', { exp: now - 30 }, /expired/],
    ['expired long ago is refused', { exp: now - 3600 }, /expired/],
    ['without an expiry is refused', { exp: undefined }, /no "exp"/],
    ['with an expiry of 0 is refused as expired', { exp: 0 }, /expired/],
    ['with an expiry as a string is refused', { exp: String(now + 60) }, /malformed/],
    ['with an expiry of null is refused', { exp: null }, /malformed/],
    ['valid from a time within the skew is accepted', { nbf: now + 30 }, undefined],
    ['not yet valid is refused', { nbf: now + 31 }, /not valid yet/],
    ['valid from a time that is not a number is refused', { nbf: 'tomorrow' }, /malformed/],
    ['issued in the future within the skew is accepted', { iat: now + 30 }, undefined],
    ['issued in the future is refused', { iat: now + 31 }, /future/],
  ];
  for (const [sentence, claims = {}, problem] of cases) {
    test(`a token ${sentence}`, () => {
      const token = hs256({ claims });
      if (problem === undefined) assert.deepEqual(check(token), alice);
      else refuses(token, problem);
    });
  }

  test('are checked with a skew of 0 too', () => {
    const strict = { ...shared, skewSeconds: 0 };
    assert.deepEqual(check(hs256({ claims: { exp: now + 1 } }), strict), alice);
    refuses(hs256({ claims: { exp: now } }), /expired/, strict);
  });
});

describe('issuer and audience of a JWT', () => {
  const strict = { ...shared, issuer: 'https://id.example', audience: 'sluice' };
  const fitting = { iss: 'https://id.example', aud: 'sluice' };

  test('are accepted when they match the configuration, the audience also as one of several', () => {
    assert.deepEqual(check(hs256({ claims: fitting }), strict), alice);
    assert.deepEqual(check(hs256({ claims: { ...fitting, aud: ['other', 'sluice'] } }), strict), alice);
  });

  test('are refused when they are missing or different', () => {
    for (const iss of [undefined, '', 'https://id.example/', 'https://evil.example']) {
      refuses(hs256({ claims: { ...fitting, iss } }), /issuer/, strict);
    }
    for (const aud of [undefined, '', 'Sluice', [], ['other'], 'sluice other']) {
      refuses(hs256({ claims: { ...fitting, aud } }), /audience/, strict);
    }
    refuses(hs256({ claims: { ...fitting, aud: { sluice: true } } }), /malformed/, strict);
  });

  test('are optional when none is configured, but a token with an audience is refused', () => {
    assert.deepEqual(check(hs256({ claims: { iss: 'anybody' } })), alice);
    refuses(hs256({ claims: { aud: 'billing' } }), /audience/);
  });
});
