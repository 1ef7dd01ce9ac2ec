// The setups of the servers to fuzz: open to this machine on the Linux backend, or behind TLS and credentials, one of them on the portable
// backend.

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hs256, secret } from '../server/auth-tokens.js';
import { selfSigned } from '../transport/self-signed.js';

export const guises = ['plain', 'token', 'jwt'] as const;
export type Guise = (typeof guises)[number];

export interface Outfit {
  readonly flags: readonly string[];
  /** Modules that Node loads before the server. */
  readonly imports: readonly string[];
  /** Needed by every WebSocket request. */
  readonly authorization: string | undefined;
  /** For a server behind TLS. */
  readonly certificate: string | undefined;
}

const noKoffi = new URL('../fixtures/no-koffi.js', import.meta.url).href;
const token = 'a-token-that-is-right';
const daySeconds = 24 * 60 * 60;

/** The folder is for files that the server reads. */
export function outfitOf(guise: Guise, folder: string): Outfit {
  switch (guise) {
    case 'plain':
      return { flags: [], imports: [], authorization: undefined, certificate: undefined };
    case 'token': {
      const digest = createHash('sha256').update(token).digest('hex');
      return { ...secured(folder, ['--token-sha256', digest]), imports: [noKoffi], authorization: `Bearer ${token}` };
    }
    case 'jwt': {
      const secretFile = join(folder, 'secret');
      writeFileSync(secretFile, secret);
      const exp = Math.floor(Date.now() / 1000) + daySeconds;
      const authorization = `Bearer ${hs256({ claims: { exp } })}`;
      return { ...secured(folder, ['--jwt-secret-file', secretFile]), imports: [], authorization };
    }
  }
}

/** On stdio only the backend makes a difference: there is no other client to authenticate. */
export function importsOnStdio(guise: Guise): readonly string[] {
  return guise === 'token' ? [noKoffi] : [];
}

function secured(folder: string, credentials: readonly string[]) {
  const { cert, key } = selfSigned();
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  return { flags: ['--tls-cert', certFile, '--tls-key', keyFile, ...credentials], certificate: cert };
}
