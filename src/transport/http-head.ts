// The head of the first request on a connection, RFC 9112 §3 and §5, read strictly: whatever two readers could take differently is malformed.
// Ours, because it is mostly a WebSocket's handshake, and Node's HTTP would take 10 ms and 2 MB to read it.

export interface RequestHead {
  readonly method: string;
  /** As it was sent. */
  readonly url: string;
  /** Names in lower case. A header that came more than once is a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Where a head ends. */
export const headEnd = '\r\n\r\n';

/** As much as Node's own HTTP takes. */
export const longestHeadBytes = 16 * 1024;

/** Everything before the end, as Latin-1. Undefined when it is malformed. */
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

/** From names and values in turn, as in Node's `rawHeaders`; Node's own `headers` joins or drops what came more than once. */
export function headersFrom(raw: readonly string[]): RequestHead['headers'] {
  const headers = new Map<string, string[]>();
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at]?.toLowerCase(), raw[at + 1]];
    const values = headers.get(name) ?? [];
    values.push(value); // a new list for each value would make the time grow with the square of the lines
    headers.set(name, values);
  }
  return Object.fromEntries([...headers].map(([name, values]) => [name, values.length === 1 ? values[0] : values] as const));
}

/** The entries of a header that is a list, on however many lines it came. */
export function listIn(header: string | readonly string[] | undefined): string[] {
  return [header ?? []].flat().flatMap((line) => line.split(',').map((entry) => entry.trim()));
}

/** Of HTTP/1.0 come health checks; nothing else differs for what is asked here. */
const requestLinePattern = /^([A-Z]+) ([\x21-\x7e]+) HTTP\/1\.[01]$/;

/** Neither a space before the colon nor a value folded over two lines, nor a control character other than the tab. */
const headerPattern = /^([!#$%&'*+.^_`|~\dA-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/** Spaces and tabs only, which `trim` goes beyond; not a pattern, whose time would grow with their square. */
function withoutOuterSpace(value: string): string {
  let [from, to] = [0, value.length];
  while (from < to && isSpace(value[from])) from += 1;
  while (to > from && isSpace(value[to - 1])) to -= 1;
  return value.slice(from, to);
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
