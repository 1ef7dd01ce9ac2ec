// Labels, by which users group processes. They are part of the metadata, so every client can set and read them.

import type { ProcessStatus } from '../protocol/index.js';
import { UsageError } from './command.js';

/** Most labels of one process, and most characters of each: they are for a table row, not for storing data. */
const maxLabels = 64;
const maxLabelLength = 256;

/** `k=v`; a key alone has an empty value. The last value of a key wins. */
export function parseLabels(texts: readonly string[]): Record<string, string> {
  if (texts.length > maxLabels) throw new UsageError(`--label can be given ${maxLabels} times at most, got ${texts.length}`);
  return Object.fromEntries(texts.map(parseLabel));
}

function parseLabel(text: string): [string, string] {
  const [, key = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(text) ?? [];
  if (key === '') throw new UsageError(`--label must be K=V, got "${text}"`);
  if (text.length <= maxLabelLength) return [key, value];
  throw new UsageError(`--label must have at most ${maxLabelLength} characters, got ${text.length}`);
}

/** The labels of a process, whichever client started it. Values in the metadata that are not strings are ignored. */
export function labelsOf({ metadata }: ProcessStatus): [string, string][] {
  const labels = metadata?.['labels'];
  if (typeof labels !== 'object' || labels === null) return [];
  return Object.entries(labels).flatMap(([key, value]): [string, string][] => (typeof value === 'string' ? [[key, value]] : []));
}
