// Makes valid and invalid tokens for the tests of the gate.

import { type KeyObject, createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The current time in the tests, in seconds since the Unix epoch. */
export const now = 1_800_000_000;

export interface JwtParts {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
}

export const secret = randomBytes(32).toString('hex');
export const keys = generateKeyPairSync('ed25519');
export const publicKeyPem = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString();

export function hs256(parts: JwtParts = {}, key: string = secret): string {
  const signed = signedPart({ alg: 'HS256', ...parts.header }, parts.claims);
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

export function edDsa(parts: JwtParts = {}, key: KeyObject = keys.privateKey): string {
  const signed = signedPart({ alg: 'EdDSA', ...parts.header }, parts.claims);
  return `${signed}.${sign(undefined, Buffer.from(signed), key).toString('base64url')}`;
}

/** Valid for a minute unless the claims say otherwise; an undefined claim is omitted. */
export function signedPart(header: Readonly<Record<string, unknown>>, claims: JwtParts['claims'] = {}): string {
  return `${encoded({ typ: 'JWT', ...header })}.${encoded({ sub: 'alice', exp: now + 60, ...claims })}`;
}

export function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** A folder that is deleted with its scope. */
export function scratchFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), 'sluice-auth-'));
  return {
    write(name: string, content: string | Uint8Array): string {
      const file = path.join(folder, name);
      writeFileSync(file, content);
      return file;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}
