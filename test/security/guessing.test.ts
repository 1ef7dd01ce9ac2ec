// Promise 7 against an attacker: tokens cannot be guessed or forged, are not logged, and guessing does not slow down clients.

import assert from 'node:assert/strict';
import { createPublicKey, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { edDsa, encoded, hs256, publicKeyPem, scratchFolder, signedPart } from '../server/auth-tokens.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';
import { answerTo, request, statusesIn, upgradeHeaders } from './raw-http.js';

async function statusWith(server: SluiceServer, ...headers: string[]): Promise<number | undefined> {
  return statusesIn(await answerTo(server, request(server, 'GET /', [...upgradeHeaders, ...headers])))[0];
}

describe('a token', () => {
  guardAgainstLeaks();

  test('cannot be guessed: every wrong one is refused, none is logged, and a client is served throughout', async () => {
    using folder = scratchFolder();
    const token = randomBytes(16).toString('hex');
    await using server = await SluiceServer.start('websocket', [
      '--token-file',
      folder.write('token', token),
      '--log-level',
      'debug',
    ]);
    await using peer = await overWebSocket(server.url, { authorization: `Bearer ${token}` });
    await peer.greet();
    const guesses = Array.from({ length: 300 }, (_, index) => `guess${index}${token.slice(0, index % 32)}`);
    for (const guess of guesses) {
      assert.equal(await statusWith(server, `Authorization: Bearer ${guess}`), 401);
      if (guess.length % 10 === 0) resultOf(await peer.request('environment/status'));
    }
    for (const header of [
      `Authorization: Basic ${Buffer.from(`user:${token}`).toString('base64')}`,
      `Authorization: ${token}`,
      `Cookie: token=${token}`,
      `X-Token: ${token}`,
      `Authorization: Bearer ${token}\r\nAuthorization: Bearer guess`,
      `Authorization: Bearer guess\r\nAuthorization: Bearer ${token}`,
      `Sec-WebSocket-Protocol: sluice.v0, sluice.bearer.${Buffer.from('guess').toString('base64url')}`,
      `Authorization: Bearer ${'guess'.repeat(3_000)}`,
    ]) {
      assert.equal(await statusWith(server, header), 401, header.slice(0, 40));
    }
    assert.equal(await statusWith(server, `Authorization: Bearer ${token}`), 101);
    resultOf(await peer.request('environment/status'));
    assert.equal(await server.stop(), 0);
    for (const secret of ['guess', token]) assert.equal(server.log.join('\n').includes(secret), false);
  });
});

describe('a JWT', () => {
  guardAgainstLeaks();

  test('is accepted by a real server only if it is signed with the right key', async () => {
    using folder = scratchFolder();
    const flags = ['--jwt-public-key-file', folder.write('key', publicKeyPem), '--jwt-audience', 'sluice'];
    await using server = await SluiceServer.start('websocket', flags);
    const now = Math.floor(Date.now() / 1000);
    const claims = { exp: now + 60, aud: 'sluice' };
    const status = async (token: string) => statusWith(server, `Authorization: Bearer ${token}`);
    assert.equal(await status(edDsa({ claims })), 101);
    assert.equal(await status(edDsa({ claims, header: { typ: undefined } })), 101);
    const der = createPublicKey(publicKeyPem).export({ type: 'spki', format: 'der' }).toString('latin1');
    for (const [what, token] of Object.entries({
      'signed with the public key as a secret': hs256({ claims }, publicKeyPem),
      'signed with the bytes of the public key': hs256({ claims }, der),
      'signed with the public key but labelled EdDSA': hs256({ claims, header: { alg: 'EdDSA' } }, publicKeyPem),
      'with alg none': `${signedPart({ alg: 'none' }, claims)}.`,
      'without alg': edDsa({ claims, header: { alg: undefined } }),
      'without a signature': edDsa({ claims }).replace(/[^.]*$/, ''),
      'that has expired': edDsa({ claims: { ...claims, exp: now - 3_600 } }),
      'that never expires': edDsa({ claims: { ...claims, exp: undefined } }),
      'that is not valid yet': edDsa({ claims: { ...claims, nbf: now + 3_600 } }),
      'for another audience': edDsa({ claims: { ...claims, aud: 'billing' } }),
      'without an audience': edDsa({ claims: { ...claims, aud: undefined } }),
      'with changed claims': edDsa({ claims }).replace(/\.[^.]*\./, `.${encoded({ ...claims, sub: 'root' })}.`),
      'that is encrypted': `${encoded({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`,
    })) {
      assert.equal(await status(token), 401, what);
    }
  });
});
