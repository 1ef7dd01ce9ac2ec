// Serializes a value that contains bytes to JSON in parts: text, and bytes that become base64 only where the message is assembled.
// Integers too large for a number are BigInts, and are written digit for digit.

import { encodeBase64 } from '../base/base64.js';

/** The parts of a message in order: strings are sent as they are, bytes as base64. */
export type MessageParts = readonly (string | Uint8Array)[];

/** More bytes than this in one part are not copied when they are sent: longer than any chunk of output, whose memory is reused. */
export const longBytes = 128 * 1024;

/** Like JSON.stringify, but supports bytes and BigInts. Text without bytes in between is one part. */
export function jsonParts(value: object): MessageParts {
  if (!isBeyondJson(value)) return [JSON.stringify(value)]; // almost every message, at half the cost
  const writer = new PartsWriter();
  writer.add(value);
  return writer.parts();
}

/** The complete text of the message. */
export function joinParts(parts: MessageParts): string {
  return parts.map((part) => (typeof part === 'string' ? part : encodeBase64(part))).join('');
}

/** Whether it contains something that JSON.stringify cannot write. */
function isBeyondJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint';
  if (value instanceof Uint8Array) return true;
  for (const name in value) if (isBeyondJson(Reflect.get(value, name))) return true;
  return false;
}

class PartsWriter {
  readonly #done: (string | Uint8Array)[] = [];
  #text = '';

  parts(): MessageParts {
    return [...this.#done, this.#text];
  }

  add(value: unknown): void {
    if (typeof value === 'bigint') this.#text += String(value);
    else if (typeof value !== 'object' || value === null) this.#text += value === undefined ? 'null' : JSON.stringify(value);
    else if (value instanceof Uint8Array) this.#addBytes(value);
    else if (Array.isArray(value)) this.#addList(value);
    else this.#addObject(value);
  }

  #addBytes(bytes: Uint8Array): void {
    this.#done.push(`${this.#text}"`, bytes);
    this.#text = '"';
  }

  #addList(list: readonly unknown[]): void {
    let separator = '[';
    for (const member of list) {
      this.#text += separator;
      separator = ',';
      this.add(member);
    }
    this.#text += list.length === 0 ? '[]' : ']';
  }

  #addObject(object: object): void {
    this.#text += '{';
    let separator = '';
    for (const [name, member] of Object.entries(object)) {
      if (member === undefined) continue;
      this.#text += `${separator}${JSON.stringify(name)}:`;
      separator = ',';
      this.add(member);
    }
    this.#text += '}';
  }
}
