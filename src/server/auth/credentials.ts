// How callers prove who they are, and the proof itself. Keeps digests and keys, never a token; knows nothing of HTTP.

import { type KeyObject, createHash, createPublicKey, createSecretKey, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Identity, anybody } from '../session-table.js';
import { type JwtRules, checkJwt } from './jwt.js';

/** Where credentials come from. Files are read once, by `loadCredentials`. */
export type CredentialSource =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'tokens';
      /** One token per line. */
      readonly files: readonly string[];
      /** SHA-256 of a token in hexadecimal, so that the token itself is nowhere on this machine. */
      readonly sha256: readonly string[];
    }
  | (Omit<JwtRules, 'algorithm' | 'key'> & { readonly kind: 'jwt'; readonly key: JwtKeySource });

export type JwtKeySource =
  | { readonly algorithm: 'HS256'; readonly secretFile: string }
  | { readonly algorithm: 'EdDSA'; readonly publicKeyFile: string };

export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'tokens'; readonly digests: readonly Uint8Array[] }
  | (JwtRules & { readonly kind: 'jwt' });

export type Authentication =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly problem: string };

/** RFC 7518 §3.2: a key for HS256 has at least the size of its output. */
const shortestSecretBytes = 32;

/** Shortest token taken from a file, in characters: 64 bits even when they are hexadecimal digits. Shorter ones can be guessed. */
const shortestToken = 16;

/** Longest token looked at. JWTs of identity providers stay below 4 KiB; Node takes 16 KiB for all headers together. */
const longestToken = 8 * 1024;

/** Throws an error that names the file and what would be right. */
export async function loadCredentials(source: CredentialSource): Promise<Credentials> {
  switch (source.kind) {
    case 'none':
      return source;
    case 'tokens': {
      const tokens = await Promise.all(source.files.map(async (file) => tokensIn(file)));
      const digests = [...tokens.flat().map(sha256), ...source.sha256.map(parseSha256)];
      if (digests.length === 0) throw new Error('no token is given; name a token file or the SHA-256 of a token');
      return { kind: 'tokens', digests };
    }
    case 'jwt':
      return { ...source, algorithm: source.key.algorithm, key: await loadKey(source.key) };
  }
}

/**
 * The subject is `token:` and eight hexadecimal digits of the token's SHA-256, or `jwt:` and the `sub` claim: fit for logs, since no
 * secret can be had from it. Problems are fixed texts: nothing of the token is in them.
 */
export function authenticate(credentials: Credentials, token: string | undefined, nowMs: number): Authentication {
  if (credentials.kind === 'none') return { ok: true, identity: anybody };
  if (token === undefined) return { ok: false, problem: 'a token is needed; send it as "Authorization: Bearer TOKEN"' };
  if (token.length > longestToken) return { ok: false, problem: `the token is longer than ${longestToken} characters` };
  switch (credentials.kind) {
    case 'tokens': {
      const digest = sha256(token);
      if (!isOneOf(digest, credentials.digests)) return { ok: false, problem: 'the token is not known here' };
      return { ok: true, identity: { subject: `token:${digest.toString('hex').slice(0, 8)}` } };
    }
    case 'jwt': {
      const checked = checkJwt(credentials, token, nowMs);
      return checked.ok ? { ok: true, identity: { subject: `jwt:${checked.subject}` } } : checked;
    }
  }
}

/** Looks at every digest, so that time tells neither whether one matched nor which. */
function isOneOf(digest: Uint8Array, known: readonly Uint8Array[]): boolean {
  let matches = 0;
  for (const candidate of known) matches += Number(timingSafeEqual(digest, candidate));
  return matches > 0;
}

function sha256(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Does not repeat what it was given: it may be the token itself, put in the wrong place. */
export function parseSha256(hex: string): Uint8Array {
  if (/^[0-9a-f]{64}$/i.test(hex)) return Buffer.from(hex, 'hex');
  throw new Error(`the SHA-256 of a token must be 64 hexadecimal digits, got ${hex.length} characters`);
}

async function tokensIn(file: string): Promise<string[]> {
  const text = (await readSecret('token file', file)).toString('utf8');
  const tokens = text.split(/\r?\n/).map((line) => line.trim());
  const strange = tokens.findIndex((token) => !/^[\x21-\x7e]*$/.test(token));
  if (strange >= 0) {
    throw new Error(`token file "${file}", line ${strange + 1}: a token must be printable ASCII without spaces, one per line`);
  }
  const short = tokens.findIndex((token) => token !== '' && token.length < shortestToken);
  if (short >= 0) {
    const got = `got ${tokens[short]?.length} characters`;
    throw new Error(
      `token file "${file}", line ${short + 1}: a token must have at least ${shortestToken} characters, as "openssl rand -hex 32" makes them; ${got}`,
    );
  }
  const present = tokens.filter((token) => token !== '');
  if (present.length === 0) throw new Error(`token file "${file}" is empty; it must hold a token`);
  return present;
}

async function loadKey(source: JwtKeySource): Promise<KeyObject> {
  switch (source.algorithm) {
    case 'HS256':
      return secretKeyOf(await readSecret('JWT secret file', source.secretFile), source.secretFile);
    case 'EdDSA':
      return publicKeyOf(await readSecret('JWT public key file', source.publicKeyFile), source.publicKeyFile);
  }
}

function secretKeyOf(content: Buffer, file: string): KeyObject {
  // Whoever has the public key could sign with it if it were taken for a secret.
  if (content.includes('-----BEGIN')) {
    throw new Error(`JWT secret file "${file}" holds a PEM key; a public key goes into the public key file (EdDSA)`);
  }
  const secret = withoutOuterSpace(content);
  if (secret.length < shortestSecretBytes) {
    throw new Error(`JWT secret file "${file}" must hold at least ${shortestSecretBytes} bytes, got ${secret.length}`);
  }
  return createSecretKey(secret);
}

function publicKeyOf(content: Buffer, file: string): KeyObject {
  // Node would derive the public key from it; a server that holds the private key could make tokens itself.
  if (content.includes('PRIVATE KEY')) {
    throw new Error(`JWT public key file "${file}" holds a private key; the server must have the public one only`);
  }
  let key: KeyObject;
  try {
    key = createPublicKey(content);
  } catch (cause) {
    throw new Error(`JWT public key file "${file}" must hold a public key in PEM`, { cause });
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Error(`JWT public key file "${file}" must hold an Ed25519 key, got ${key.asymmetricKeyType}`);
}

/** Editors end files with a line feed, which belongs to no secret; random bytes are taken as they are. */
function withoutOuterSpace(secret: Buffer): Buffer {
  const text = secret.toString('utf8');
  return Buffer.from(text).equals(secret) ? Buffer.from(text.trim()) : secret;
}

async function readSecret(what: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`cannot read ${what} "${file}": ${reason}`, { cause });
  }
}
