// A line of output -> the JSON object in it, even from a terminal, which adds escape sequences, carriage returns and echoed keys. Knows
// nothing of what the objects mean.

import type { AdapterEvent } from '../agent-event.js';
import { type JsonObject, isObject } from './json-members.js';

/**
 * One piece of what a terminal adds: a control sequence (cursor movement, colours, `ESC [ ? 2 5 h`), a title, any other escape sequence, a
 * control character, a blank, a byte order mark, or the echo of the end-of-input key.
 */
const noise = new RegExp(
  [
    String.raw`\u001b\[[0-?]*[ -/]*[@-~]`,
    String.raw`\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)`,
    String.raw`\u001b[ -/]*[0-~]`,
    String.raw`[\u0000-\u0020\u007f-\u009f\ufeff]`,
    String.raw`\^D`,
  ].join('|'),
  'g',
);

/** Undefined when the line contains anything besides one object and what a terminal adds. */
export function jsonIn(line: string): JsonObject | undefined {
  const [start, end] = [line.indexOf('{'), line.lastIndexOf('}') + 1];
  if (start < 0 || end <= start || !isNoise(line.slice(0, start)) || !isNoise(line.slice(end))) return undefined;
  try {
    const value: unknown = JSON.parse(line.slice(start, end));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // torn, or not JSON at all: an ordinary line
  }
}

/** Nothing for a line that contains only noise; any other line as it is. */
export function plainLine(line: string, stream: 'stdout' | 'stderr'): AdapterEvent[] {
  return isNoise(line) ? [] : [{ type: 'raw', stream, line }];
}

function isNoise(text: string): boolean {
  return text.replaceAll(noise, '') === '';
}

/** The events of a line: those of its JSON object, or the whole line as `raw` if the adapter does not know it. */
export function readLine(
  line: string,
  stream: 'stdout' | 'stderr',
  read: (json: JsonObject) => AdapterEvent[] | undefined,
): AdapterEvent[] {
  const json = stream === 'stdout' ? jsonIn(line) : undefined;
  if (json === undefined) return plainLine(line, stream);
  return read(json) ?? [{ type: 'raw', stream, line: json }];
}
