// `sluice ps --filter`: selects which processes are shown.

import type { ProcessStatus } from '../protocol/index.js';
import { UsageError } from './command.js';
import { labelsOf } from './labels.js';

type Filter = (process: ProcessStatus) => boolean;

/**
 * Each text is KEY=VALUE. A process must have all the labels, one of the states and one of the names. Throws a UsageError for any other
 * key.
 */
export function parseFilters(texts: readonly string[]): Filter {
  const given = texts.map((text) => {
    const [, key = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
    return { key, value: value ?? '', isKnown: ['label', 'status', 'name'].includes(key) && value !== undefined, text };
  });
  const wrong = given.find(({ isKnown }) => !isKnown);
  if (wrong !== undefined) {
    throw new UsageError(`--filter must be label=K, label=K=V, status=running, status=exited or name=NAME, got "${wrong.text}"`);
  }
  const filtersOf = (wanted: string, make: (value: string) => Filter) =>
    given.flatMap(({ key, value }) => (key === wanted ? [make(value)] : []));
  const labels = filtersOf('label', byLabel);
  const choices = [filtersOf('status', byStatus), filtersOf('name', byName)].filter(({ length }) => length > 0);
  return (process) =>
    labels.every((matches) => matches(process)) && choices.every((choice) => choice.some((matches) => matches(process)));
}

function byLabel(text: string): Filter {
  const [, wantedKey = '', wantedValue] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  return (process) =>
    labelsOf(process).some(([key, value]) => key === wantedKey && (wantedValue === undefined || value === wantedValue));
}

function byStatus(status: string): Filter {
  if (status !== 'running' && status !== 'exited') {
    throw new UsageError(`--filter status must be running or exited, got "${status}"`);
  }
  return ({ state }) => (state === 'running') === (status === 'running');
}

/** Matches exactly, except that a star matches any characters. */
function byName(pattern: string): Filter {
  const [begin = '', ...rest] = pattern.split('*');
  const end = rest.pop();
  return ({ processId }) => {
    if (end === undefined) return processId === pattern;
    if (!processId.startsWith(begin)) return false;
    let at = begin.length;
    for (const part of rest) {
      const found = processId.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return processId.length >= at + end.length && processId.endsWith(end);
  };
}
