// Reads the part of YAML that people write in the heads of skills: nested mappings and lists by indentation, quoted and plain text, text
// in blocks, and short lists and mappings in brackets. Every scalar is text. Anchors, tags and several documents are not known.

export type YamlValue = string | undefined | readonly YamlValue[] | YamlMap;
export interface YamlMap {
  readonly [name: string]: YamlValue;
}

/** Deepest nesting. Far more than anyone writes, and far from the end of the stack. */
const deepestNesting = 32;

/** Throws if the text has another form. */
export function parseYaml(text: string): YamlValue {
  const reader = new Reader(text.split(/\r?\n/));
  const value = reader.block(0);
  if (reader.peek() !== undefined) throw new Error(`unexpected indentation in "${reader.peek()?.content}"`);
  return value;
}

export function isYamlMap(value: YamlValue): value is YamlMap {
  return typeof value === 'object' && !Array.isArray(value);
}

interface Line {
  readonly indent: number;
  readonly content: string;
}

class Reader {
  readonly #lines: string[];
  #at = 0;
  #depth = 0;

  constructor(lines: string[]) {
    this.#lines = lines;
  }

  /** The next line with content. */
  peek(): Line | undefined {
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const content = this.#lines[this.#at]?.trim() ?? '';
      if (content !== '' && !content.startsWith('#')) return { indent: this.#indent(), content };
    }
    return undefined;
  }

  /** A mapping or list whose lines are indented by at least `least`. */
  block(least: number): YamlValue {
    const first = this.peek();
    if (first === undefined || first.indent < least) return undefined;
    this.#depth += 1;
    if (this.#depth > deepestNesting) throw new Error('it is nested too deeply');
    const value = isItem(first) ? this.#list(first.indent) : this.#map(first.indent);
    this.#depth -= 1;
    return value;
  }

  #list(indent: number): YamlValue[] {
    const items: YamlValue[] = [];
    for (let line = this.peek(); line?.indent === indent && isItem(line); line = this.peek()) {
      const rest = line.content.slice(1).trimStart();
      if (rest === '') {
        this.#at += 1;
        items.push(this.block(indent + 1));
      } else if (splitEntry(rest) === undefined) {
        this.#at += 1;
        items.push(scalar(rest));
      } else {
        // `- name: value` begins a mapping: read it as if the dash were a space.
        this.#lines[this.#at] = `${' '.repeat(indent + line.content.length - rest.length)}${rest}`;
        items.push(this.block(indent + 1));
      }
    }
    return items;
  }

  #map(indent: number): YamlMap {
    const entries = new Map<string, YamlValue>();
    for (let line = this.peek(); line?.indent === indent && !isItem(line); line = this.peek()) {
      const entry = splitEntry(line.content);
      if (entry === undefined) throw new Error(`"${line.content}" is not "name: value"`);
      this.#at += 1;
      entries.set(entry.name, this.#value(entry.rest, indent));
    }
    return Object.fromEntries(entries);
  }

  #value(rest: string, indent: number): YamlValue {
    if (/^[|>][-+0-9]*(?:\s+#.*)?$/.test(rest)) return this.#textBlock(rest.startsWith('|') ? '\n' : ' ', indent);
    if (rest !== '' && !rest.startsWith('#')) return scalar([rest, ...this.#continuation(indent)].join(' '));
    const next = this.peek();
    // A list may be indented like the name that it belongs to.
    return next !== undefined && isItem(next) && next.indent === indent ? this.#list(indent) : this.block(indent + 1);
  }

  /** Text that goes on in the next lines. */
  #continuation(indent: number): string[] {
    const parts: string[] = [];
    for (let line = this.peek(); line !== undefined && line.indent > indent; line = this.peek()) {
      parts.push(line.content);
      this.#at += 1;
    }
    return parts;
  }

  #textBlock(separator: string, indent: number): string {
    const parts: string[] = [];
    for (; this.#at < this.#lines.length; this.#at += 1) {
      const text = this.#lines[this.#at]?.trim() ?? '';
      if (text !== '' && this.#indent() <= indent) break;
      parts.push(text);
    }
    return parts.join(separator).trim();
  }

  #indent(): number {
    const line = this.#lines[this.#at] ?? '';
    return line.length - line.trimStart().length;
  }
}

function isItem({ content }: Line): boolean {
  return content === '-' || content.startsWith('- ');
}

function splitEntry(content: string): { readonly name: string; readonly rest: string } | undefined {
  const found = /^("[^"]*"|'[^']*'|[^\s"'#{}[\],&*!|>%@`-][^:]*?|-[^\s:][^:]*?)\s*:(?:\s+(.*))?$/.exec(content);
  return found?.[1] === undefined ? undefined : { name: unquoted(found[1]), rest: found[2] ?? '' };
}

function scalar(text: string): YamlValue {
  const trimmed = text.trim();
  if (trimmed.startsWith('[')) return inBrackets(trimmed, ']').map(scalar);
  if (trimmed.startsWith('{')) {
    const entries = inBrackets(trimmed, '}').map((part) => {
      const entry = splitEntry(part.trim());
      if (entry === undefined) throw new Error(`"${part}" is not "name: value"`);
      return [entry.name, scalar(entry.rest)] as const;
    });
    return Object.fromEntries(entries);
  }
  if (trimmed.startsWith('- ')) throw new Error('a list cannot begin on the line of a name');
  const quoted = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$/.exec(trimmed)?.[1];
  if (quoted !== undefined) return unquoted(quoted);
  const plain = trimmed.replace(/\s+#.*$/, '');
  return plain === '~' || plain === 'null' ? undefined : plain;
}

/** Nothing nests in brackets. */
function inBrackets(text: string, closing: string): string[] {
  const inner = /^.(.*)(.)\s*(?:#.*)?$/.exec(text);
  if (inner?.[1] === undefined || inner[2] !== closing || /[[\]{}]/.test(inner[1])) throw new Error(`"${text}" is not closed`);
  return inner[1].split(',').filter((part) => part.trim() !== '');
}

function unquoted(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  if (!text.startsWith('"')) return text;
  const parsed: unknown = JSON.parse(text);
  return String(parsed);
}
