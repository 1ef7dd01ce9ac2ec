// Signed bearer tokens (RFC 7519, 7515, 8725): one algorithm, one key, both fixed before any token is seen. Knows nothing about HTTP.

import { type KeyObject, createHmac, timingSafeEqual, verify } from 'node:crypto';
import * as v from 'valibot';

export interface JwtRules {
  /** The only accepted algorithm. The token's `alg` must match it and never selects one. */
  readonly algorithm: 'HS256' | 'EdDSA';
  readonly key: KeyObject;
  /** `iss` must equal this; any issuer when absent. */
  readonly issuer?: string | undefined;
  /** `aud` must contain this. When absent, tokens with an `aud` claim are refused (RFC 7519 §4.1.3). */
  readonly audience?: string | undefined;
  /** How far the issuer's and the server's clocks may differ. */
  readonly skewSeconds: number;
}

export type JwtCheck = { readonly ok: true; readonly subject: string } | { readonly ok: false; readonly problem: string };

const header = v.object({ alg: v.string(), typ: v.optional(v.string()), crit: v.optional(v.unknown()) });

/**
 * Issuers sign other things with the same key: logout tokens, security events, proofs of possession. Each has its own type (RFC 8725 §3.11);
 * a token with no type, "JWT" or "at+jwt" (RFC 9068) is meant for its audience. The type is a media type, so case does not matter.
 */
const acceptedTypes = /^(?:application\/)?(?:at\+)?jwt$/i;

/** Seconds since the Unix epoch; the RFC allows fractions. */
const numericDate = v.pipe(v.number(), v.finite());

/** The subject becomes a key in tables and a field in logs; this is twice what identity providers issue. */
const longestSubject = 512;

const claims = v.object({
  exp: v.optional(numericDate),
  nbf: v.optional(numericDate),
  iat: v.optional(numericDate),
  iss: v.optional(v.string()),
  aud: v.optional(v.union([v.string(), v.array(v.string())])),
  sub: v.optional(v.pipe(v.string(), v.maxLength(longestSubject))),
});
type Claims = v.InferOutput<typeof claims>;

/** A token without `sub` has the subject "". Problems are fixed texts that contain no part of the token. */
export function checkJwt(rules: JwtRules, token: string, nowMs: number): JwtCheck {
  const [head = '', body = '', signature = '', ...rest] = token.split('.');
  const parsed = v.safeParse(header, jsonOf(head));
  if (!parsed.success || rest.length > 0) return refused('the token is not a signed JWT');
  if (parsed.output.alg !== rules.algorithm) return refused(`the token is not signed with ${rules.algorithm}`);
  if (!acceptedTypes.test(parsed.output.typ ?? 'JWT')) return refused('the type of the token ("typ") must be JWT or at+jwt');
  if (parsed.output.crit !== undefined) return refused('the token has a "crit" header, but this server supports no extensions');
  const signatureBytes = bytesOf(signature);
  if (signatureBytes === undefined || !isSignedBy(rules, `${head}.${body}`, signatureBytes)) {
    return refused('the signature of the token is invalid');
  }
  const claimed = v.safeParse(claims, jsonOf(body));
  if (!claimed.success) return refused('a claim of the token is malformed');
  const problem = problemWith(claimed.output, rules, nowMs / 1000);
  return problem === undefined ? { ok: true, subject: claimed.output.sub ?? '' } : refused(problem);
}

function problemWith({ exp, nbf, iat, iss, aud }: Claims, rules: JwtRules, now: number): string | undefined {
  const { issuer, audience, skewSeconds } = rules;
  if (exp === undefined) return 'the token has no "exp"; tokens that never expire are refused';
  if (now >= exp + skewSeconds) return 'the token has expired';
  if (nbf !== undefined && now < nbf - skewSeconds) return 'the token is not valid yet';
  if (iat !== undefined && now < iat - skewSeconds) return 'the token was issued in the future; check the clocks';
  if (issuer !== undefined && iss !== issuer) return 'the token is from another issuer';
  const audiences = typeof aud === 'string' ? [aud] : (aud ?? []);
  if (audience === undefined ? aud !== undefined : !audiences.includes(audience)) return 'the token is for another audience';
  return undefined;
}

function isSignedBy({ algorithm, key }: JwtRules, signed: string, signature: Uint8Array): boolean {
  switch (algorithm) {
    case 'HS256': {
      const expected = createHmac('sha256', key).update(signed).digest();
      return signature.length === expected.length && timingSafeEqual(signature, expected);
    }
    case 'EdDSA':
      return verify(undefined, Buffer.from(signed), key, signature);
  }
}

function jsonOf(part: string): unknown {
  const bytes = bytesOf(part);
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined; // no schema accepts undefined, and the parser's own error text would quote the token
  }
}

/** Canonical base64url only. Node's decoder alone would accept several encodings of one signature. */
function bytesOf(part: string): Uint8Array | undefined {
  const bytes = Buffer.from(part, 'base64url');
  return bytes.toString('base64url') === part ? bytes : undefined;
}

function refused(problem: string): JwtCheck {
  return { ok: false, problem };
}
