// The head of an HTTP request, RFC 9112 §3 and §5, read strictly: whatever two readers could take differently is malformed. Ours, because
// Node's HTTP takes 10 ms and 2 MB of every start, to read what is mostly one handshake and sometimes a health check.

export interface RequestHead {
  readonly method: string;
  /** As it was sent. */
  readonly url: string;
  /** Names in lower case. A header that came more than once is a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Where a head ends. */
export const headEnd = '\r\n\r\n';

/** Everything before the end, as Latin-1. Undefined when it is malformed. */
export function parseHead(text: string): RequestHead | undefined {
  const [requestLine = '', ...lines] = text.split('\r\n');
  const [, method, url] = requestLinePattern.exec(requestLine) ?? [];
  if (method === undefined || url === undefined) return undefined;
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value] = headerPattern.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    const key = name.toLowerCase();
    const values = headers.get(key) ?? [];
    values.push(withoutOuterSpace(value)); // a new list for each value would make the time grow with the square of the lines
    headers.set(key, values);
  }
  if (headers.has('transfer-encoding') || !isLength(headers.get('content-length'))) return undefined;
  const single = [...headers].map(([name, values]) => [name, values.length === 1 ? values[0] : values] as const);
  return { method, url, headers: Object.fromEntries(single) };
}

/** Nothing that is asked here has a body, so there is none to read; but where it would end must not be in doubt. */
function isLength(values: readonly string[] = ['0']): boolean {
  return values.length === 1 && /^\d+$/.test(values[0] ?? '');
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
