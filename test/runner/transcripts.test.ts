// The output of real agent programs, replayed through their adapters. The captures are in test/fixtures/agent-streams, the expected events
// in test/runner/snapshots, one per line. To rewrite the snapshots after a change and review the difference:
//
//   npx tsc -b tsconfig.test.json && SNAPSHOTS=write node --test dist-test/runner/transcripts.test.js && git diff test/runner/snapshots

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { AgentAdapter } from '#src/runner/agent-adapter.js';
import type { AdapterEvent } from '#src/runner/agent-event.js';
import { claude } from '#src/runner/adapters/claude.js';
import { codex } from '#src/runner/adapters/codex.js';

const captures = new URL('../../test/fixtures/agent-streams/', import.meta.url);
const snapshots = new URL('../../test/runner/snapshots/', import.meta.url);
const names = namesIn(captures, '.jsonl');

/** Longest line of a snapshot, in characters; longer ones are truncated. */
const longest = 240;

/** A step of a capture: a process starts, a line is sent to it, a line is received from it. */
type Step = { readonly dir: 'meta' | 'in' | 'out'; readonly line: string };

for (const name of names) {
  test(`${name} produces the events of its snapshot`, () => {
    const file = new URL(`${name}.txt`, snapshots);
    const events = replay(name);
    if (process.env['SNAPSHOTS'] === 'write') writeFileSync(file, events);
    assert.equal(events, existsSync(file) ? readFileSync(file, 'utf8') : 'no snapshot');
  });
}

test('every snapshot has a capture', () => {
  assert.deepEqual(namesIn(snapshots, '.txt'), names);
});

test('claude-control was started with the adapter’s arguments', () => {
  const [spawn] = stepsOf('claude-control');
  const [, ...args] = claude().command({ prompt: 'hi', resume: undefined, args: [] }).argv;
  assert.equal(spawn?.line, JSON.stringify({ event: 'spawn', args }));
});

describe('on a terminal', () => {
  const marked = names.filter((name) => stepsOf(name).some(({ dir }) => dir === 'in'));

  test('there are captures with both directions', () => {
    assert.deepEqual(marked, ['claude-control', 'claude-turns']);
  });

  for (const name of marked) {
    test(`${name} produces the same events despite echo and escape sequences`, () => {
      const shown = stepsOf(name).map((step): Step =>
        step.dir === 'meta' ? step : { dir: 'out', line: `\u001B[?25h${step.line}\r` },
      );
      assert.deepEqual(eventsOf(name, [...shown, { dir: 'out', line: '\u001B[?25h' }]), eventsOf(name, stepsOf(name)));
    });
  }
});

for (const name of names) {
  test(`${name} has each answer once: the texts of a successful turn end with its result`, () => {
    let text = '';
    for (const event of eventsOf(name, stepsOf(name))) {
      if (event.type === 'text') text += event.text;
      if (event.type !== 'turnEnded') continue;
      if (!event.result.isError)
        assert.deepEqual([text.endsWith(event.result.text), text.split(event.result.text).length], [true, 2], text);
      text = '';
    }
  });
}

function namesIn(folder: URL, extension: string): string[] {
  return readdirSync(folder)
    .map((file) => path.basename(file, extension))
    .toSorted();
}

function adapterOf(name: string): AgentAdapter {
  return name.startsWith('claude') ? claude() : codex();
}

/** Marked captures have a direction for every line; the others contain output only. */
function stepsOf(name: string): Step[] {
  const lines = readFileSync(new URL(`${name}.jsonl`, captures), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((text): Step => {
    const marked = JSON.parse(text) as { readonly dir?: Step['dir']; readonly line?: unknown };
    return marked.dir === undefined ? { dir: 'out', line: text } : { dir: marked.dir, line: JSON.stringify(marked.line) };
  });
}

/** Each process gets its own reader. */
function eventsOf(name: string, steps: readonly Step[]): AdapterEvent[] {
  let reader = adapterOf(name).createReader();
  return steps.flatMap(({ dir, line }) => {
    if (dir === 'meta') reader = adapterOf(name).createReader();
    return dir === 'out' ? reader.read(line, 'stdout') : [];
  });
}

/** Events are numbered; `>` marks input, `#` what happened to the process. */
function replay(name: string): string {
  let [number, reader] = [0, adapterOf(name).createReader()];
  const shown = stepsOf(name).flatMap(({ dir, line }) => {
    if (dir === 'in') return [`> ${line}`];
    if (dir === 'meta') {
      reader = adapterOf(name).createReader();
      return [`# ${line}`];
    }
    return reader.read(line, 'stdout').map((event) => `${(number += 1)} ${brief(event)}`);
  });
  return shown.map((line) => `${line.length > longest ? `${line.slice(0, longest)}…` : line}\n`).join('');
}

/** `text "hello"`: the type, then the values of the members in order. */
function brief({ type, ...members }: AdapterEvent): string {
  return [type, ...Object.values(members).map((value: unknown) => JSON.stringify(value))].join(' ');
}
