// Parses the head of the first request on a connection, RFC 9112 §3 and §5. Strict: anything that two parsers could read differently is
// malformed. Written here because most such requests are WebSocket handshakes, for which loading node:http would take 10 ms and 2 MB.

export interface RequestHead {
  readonly method: string;
  /** Exactly as sent. */
  readonly url: string;
  /** Names in lower case. A header that occurs more than once is a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Marks the end of a head. */
export const headEnd = '\r\n\r\n';

/** The same limit as in node:http. */
export const longestHeadBytes = 16 * 1024;

/** `text` is everything before `headEnd`, decoded as Latin-1. Undefined when it is malformed. */
export function parseHead(text: string): RequestHead | undefined {
  const [requestLine = '', ...lines] = text.split('\r\n');
  const [, method, url] = requestLinePattern.exec(requestLine) ?? [];
  if (method === undefined || url === undefined) return undefined;
  const raw: string[] = [];
  for (const line of lines) {
    const [, name, value] = headerPattern.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    raw.push(name, withoutOuterSpace(value));
  }
  return { method, url, headers: headersFrom(raw) };
}

/** Takes alternating names and values, as in Node's `rawHeaders`; Node's own `headers` joins or drops repeated headers. */
export function headersFrom(raw: readonly string[]): RequestHead['headers'] {
  const headers = new Map<string, string[]>();
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at]?.toLowerCase(), raw[at + 1]];
    const values = headers.get(name) ?? [];
    values.push(value); // copying the list for each value would take quadratic time
    headers.set(name, values);
  }
  return Object.fromEntries([...headers].map(([name, values]) => [name, values.length === 1 ? values[0] : values] as const));
}

/** The entries of a comma-separated header, on one line or several. */
export function listIn(header: string | readonly string[] | undefined): string[] {
  return [header ?? []].flat().flatMap((line) => line.split(',').map((entry) => entry.trim()));
}

/** Some health checks use HTTP/1.0; the difference does not matter here. */
const requestLinePattern = /^([A-Z]+) ([\x21-\x7e]+) HTTP\/1\.[01]$/;

/** Allows no space before the colon, no value folded over two lines, and no control character other than the tab. */
const headerPattern = /^([!#$%&'*+.^_`|~\dA-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/** Strips only spaces and tabs; `trim` would strip more, and a regular expression would take quadratic time. */
function withoutOuterSpace(value: string): string {
  let [from, to] = [0, value.length];
  while (from < to && isSpace(value[from])) from += 1;
  while (to > from && isSpace(value[to - 1])) to -= 1;
  return value.slice(from, to);
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
