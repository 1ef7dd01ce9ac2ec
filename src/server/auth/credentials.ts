// Loads credentials and authenticates callers. Keeps digests and keys, never a token; knows nothing about HTTP.

import { type KeyObject, createHash, createPublicKey, createSecretKey, timingSafeEqual } from 'node:crypto';
import { type Identity, anybody } from '../session-table.js';
import { type JwtRules, checkJwt } from './jwt.js';

/** Where credentials come from. Files are read once, by `loadCredentials`. */
export type CredentialSource =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'tokens';
      /** One token per line. */
      readonly files: readonly string[];
      /** SHA-256 of each token in hexadecimal, so that the token itself need not be stored on this machine. */
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

/** RFC 7518 §3.2: a key for HS256 must be at least as long as its output. */
const shortestSecretBytes = 32;

/** Shortest token accepted from a file, in characters: 64 bits even in hexadecimal. Shorter ones can be guessed. */
const shortestToken = 16;

/** Longest token accepted, in characters. JWTs of identity providers stay below 4 KiB; Node accepts 16 KiB for all headers together. */
const longestToken = 8 * 1024;

/** Throws an error that names the file and what it must contain. */
export async function loadCredentials(source: CredentialSource): Promise<Credentials> {
  switch (source.kind) {
    case 'none':
      return source;
    case 'tokens': {
      const tokens = await Promise.all(source.files.map(async (file) => tokensIn(file)));
      const digests = [...tokens.flat().map(sha256), ...source.sha256.map(parseSha256)];
      if (digests.length === 0) throw new Error('no token is configured; give a token file or the SHA-256 of a token');
      return { kind: 'tokens', digests };
    }
    case 'jwt':
      return { ...source, algorithm: source.key.algorithm, key: await loadKey(source.key) };
  }
}

/**
 * The subject is `token:` and eight hexadecimal digits of the token's SHA-256, or `jwt:` and the `sub` claim: safe to log, because it
 * reveals no secret. Problems are fixed texts that contain no part of the token.
 */
export function authenticate(credentials: Credentials, token: string | undefined, nowMs: number): Authentication {
  if (credentials.kind === 'none') return { ok: true, identity: anybody };
  if (token === undefined) return { ok: false, problem: 'a token is required; send it as "Authorization: Bearer TOKEN"' };
  if (token.length > longestToken) return { ok: false, problem: `the token is longer than ${longestToken} characters` };
  switch (credentials.kind) {
    case 'tokens': {
      const digest = sha256(token);
      if (!isOneOf(digest, credentials.digests)) return { ok: false, problem: 'the token is unknown to this server' };
      return { ok: true, identity: { subject: `token:${digest.toString('hex').slice(0, 8)}` } };
    }
    case 'jwt': {
      const checked = checkJwt(credentials, token, nowMs);
      return checked.ok ? { ok: true, identity: { subject: `jwt:${checked.subject}` } } : checked;
    }
  }
}

/** Compares every digest, so that the time taken reveals neither whether one matched nor which. */
function isOneOf(digest: Uint8Array, known: readonly Uint8Array[]): boolean {
  let matches = 0;
  for (const candidate of known) matches += Number(timingSafeEqual(digest, candidate));
  return matches > 0;
}

function sha256(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The error does not quote the value, which may be the token itself given in the wrong place. */
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
      `token file "${file}", line ${short + 1}: a token must have at least ${shortestToken} characters, such as one from "openssl rand -hex 32"; ${got}`,
    );
  }
  const present = tokens.filter((token) => token !== '');
  if (present.length === 0) throw new Error(`token file "${file}" is empty; it must contain a token`);
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
  // If a public key were used as the secret, anyone who has it could sign tokens.
  if (content.includes('-----BEGIN')) {
    throw new Error(`JWT secret file "${file}" contains a PEM key; a public key belongs in the public key file (EdDSA)`);
  }
  const secret = withoutOuterSpace(content);
  if (secret.length < shortestSecretBytes) {
    throw new Error(`JWT secret file "${file}" must contain at least ${shortestSecretBytes} bytes, got ${secret.length}`);
  }
  return createSecretKey(secret);
}

function publicKeyOf(content: Buffer, file: string): KeyObject {
  // Node would derive the public key from it, but a server that has the private key could issue tokens itself.
  if (content.includes('PRIVATE KEY')) {
    throw new Error(`JWT public key file "${file}" contains a private key; the server must have only the public key`);
  }
  let key: KeyObject;
  try {
    key = createPublicKey(content);
  } catch (cause) {
    throw new Error(`JWT public key file "${file}" must contain a public key in PEM format`, { cause });
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Error(`JWT public key file "${file}" must contain an Ed25519 key, got ${key.asymmetricKeyType}`);
}

/** Editors end files with a line feed, which is not part of the secret; binary secrets are taken unchanged. */
function withoutOuterSpace(secret: Buffer): Buffer {
  const text = secret.toString('utf8');
  return Buffer.from(text).equals(secret) ? Buffer.from(text.trim()) : secret;
}

async function readSecret(what: string, file: string): Promise<Buffer> {
  try {
    const { readFile } = await import('node:fs/promises');
    return await readFile(file);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`cannot read ${what} "${file}": ${reason}`, { cause });
  }
}
