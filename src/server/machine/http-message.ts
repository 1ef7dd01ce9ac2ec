// Reads the parameters of `http/request` into a request that can be sent, and describes responses. Sends nothing.

import type { IncomingMessage } from 'node:http';
import { type Params, execError } from '../../protocol/index.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Header {
  readonly name: string;
  readonly value: string;
  /** A secret of the caller or of this machine: another origin must not get it. */
  readonly isCredential: boolean;
}

export interface OutgoingRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
}

/** RFC 9110: the characters of a method and of a header's name. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Credentials of programs that run on this machine. Codex refuses the same ones, apart from the last. */
const forbiddenVariables = new Set([
  'OPENAI_API_KEY',
  'OPENAI_FEDERATION_RULE_ID',
  'OPENAI_IDENTITY_TOKEN_FILE',
  'CODEX_API_KEY',
  'CODEX_ACCESS_TOKEN',
  'CODEX_CONNECTORS_TOKEN',
  'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AZURE_CLIENT_SECRET',
  'AZURE_FEDERATED_TOKEN_FILE',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'SLUICE_TOKEN',
]);

const credentialHeaders = new Set(['authorization', 'cookie', 'cookie2', 'proxy-authorization', 'www-authenticate']);

export function readRequest(params: Params<'http/request'>, env: Environment): OutgoingRequest {
  const { method, headers, bodyBase64 } = params;
  // CONNECT turns the connection into a tunnel.
  if (!token.test(method) || method.toUpperCase() === 'CONNECT') throw invalid('method is invalid: invalid HTTP method');
  const url = readUrl(params.url);
  const given = (headers ?? []).map((each) => readHeader(each, env));
  return { method, url, headers: [...given, ...loginOf(url, given)], body: bodyBase64 ?? undefined };
}

function readUrl(text: string): URL {
  let url;
  try {
    url = new URL(text);
  } catch (error) {
    throw execError('invalidParams', { problem: `http/request url is invalid: "${text}"` }, { cause: error });
  }
  if (isHttp(url)) return url;
  throw invalid(`only supports http and https URLs, got ${url.protocol.slice(0, -1)}`);
}

export function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:';
}

function readHeader(
  { name, value, valueEnvVar }: NonNullable<Params<'http/request'>['headers']>[number],
  env: Environment,
): Header {
  if (!token.test(name)) throw invalid('header name is invalid: invalid HTTP header name');
  const isFromVariable = valueEnvVar !== undefined && valueEnvVar !== null;
  const whole = isFromVariable ? value + variable(name, valueEnvVar, env) : value;
  // oxlint-disable-next-line no-control-regex -- these are the characters that end or break a header
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(whole))
    throw invalid(`header value is invalid for ${name}: failed to parse header value`);
  return { name, value: whole, isCredential: isFromVariable || credentialHeaders.has(name.toLowerCase()) };
}

function variable(header: string, name: string, env: Environment): string {
  if (forbiddenVariables.has(name.toUpperCase()))
    throw invalid(`header ${header} cannot use executor environment variable ${name}`);
  const found = Object.hasOwn(env, name) ? env[name] : undefined;
  if (found === undefined) throw invalid(`header ${header} requires executor environment variable ${name}`);
  if (found === '') throw invalid(`header ${header} requires a non-empty executor environment variable ${name}`);
  return found;
}

/** A URL may contain a name and a password. */
function loginOf({ username, password }: URL, headers: readonly Header[]): readonly Header[] {
  if ((username === '' && password === '') || hasHeader(headers, 'authorization')) return [];
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return [{ name: 'authorization', value: `Basic ${login}`, isCredential: true }];
}

function hasHeader(headers: readonly Header[], name: string): boolean {
  return headers.some((header) => header.name.toLowerCase() === name);
}

/** Methods for which Node does not announce a body by itself. */
const bodylessMethods = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

/** Names and values in turn, as they go over the wire. Text beyond ASCII is sent as UTF-8. */
export function rawHeaders({ method, headers, url, body }: OutgoingRequest): string[] {
  const own = [
    { name: 'accept', value: '*/*' },
    { name: 'host', value: url.host },
  ];
  const hasLength = hasHeader(headers, 'transfer-encoding') || (body === undefined && bodylessMethods.has(method.toUpperCase()));
  if (!hasLength) own.push({ name: 'content-length', value: String(body?.length ?? 0) });
  return [...headers, ...own.filter(({ name }) => !hasHeader(headers, name))].flatMap(({ name, value }) => [
    name,
    Buffer.from(value).toString('latin1'),
  ]);
}

/** The next request after a redirect, as browsers make it; undefined if the response leads nowhere. */
export function redirected(request: OutgoingRequest, { statusCode = 0, headers }: IncomingMessage): OutgoingRequest | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) return undefined;
  if (!URL.canParse(headers.location, request.url.href)) return undefined;
  const url = new URL(headers.location, request.url.href);
  const { method } = request;
  const becomesGet = statusCode === 303 ? method !== 'HEAD' : statusCode < 303 && method === 'POST';
  const kept = request.headers.filter(({ name, isCredential }) => {
    if (isCredential && url.origin !== request.url.origin) return false;
    if (name.toLowerCase() === 'host') return false; // named the previous server
    return !becomesGet || !/^(?:content-.*|transfer-encoding)$/i.test(name);
  });
  return { url, method: becomesGet ? 'GET' : method, headers: kept, body: becomesGet ? undefined : request.body };
}

/** In the order of the response, with repeats. A value that is not plain ASCII is left out, as in Codex. */
export function headersOf({ rawHeaders: raw }: IncomingMessage): { name: string; value: string }[] {
  return raw.flatMap((name, at) => {
    const value = raw[at + 1];
    return at % 2 === 0 && value !== undefined && /^[\t\x20-\x7e]*$/.test(value) ? [{ name: name.toLowerCase(), value }] : [];
  });
}

function invalid(problem: string) {
  return execError('invalidParams', { problem: `http/request ${problem}` });
}
