// The events of a run in bounded memory: a reader that starts late or lags gets the number of events it has missed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentEvent } from '#src/runner/agent-event.js';
import { EventLog, type SeenEvent } from '#src/runner/event-log.js';

/** 32 of them, with their stamps, exceed what is kept. */
const mib = 'x'.repeat(1024 * 1024);

function textEvent(seq: number, text = mib): AgentEvent {
  return { type: 'text', text, seq, at: 0, turn: 1 };
}

/** A gap in brief, or an event's sequence number. */
function brief(event: SeenEvent | undefined): string | number | undefined {
  return event?.type === 'gap' ? `${event.missedEvents} missed` : event?.seq;
}

test('a reader that starts late gets the number of evicted events, and continues after them', async () => {
  const log = new EventLog();
  for (let seq = 1; seq <= 40; seq += 1) log.append(textEvent(seq));
  log.end();
  const seen: (string | number | undefined)[] = [];
  for await (const event of log.read(2)) seen.push(brief(event));
  assert.deepEqual([seen[0], seen[1], seen.at(-1)], ['7 missed', 10, 40]);
  assert.equal(log.nextSeq, 41);
});

test('a reader that lags gets it in the middle', async () => {
  const log = new EventLog();
  log.append(textEvent(1));
  const reader = log.read();
  assert.equal(brief((await reader.next()).value as SeenEvent), 1);
  for (let seq = 2; seq <= 41; seq += 1) log.append(textEvent(seq));
  assert.equal(brief((await reader.next()).value as SeenEvent), '9 missed');
  assert.equal(brief((await reader.next()).value as SeenEvent), 11);
});

test('the latest event is kept, whatever its size', async () => {
  const log = new EventLog();
  log.append(textEvent(1, 'small'));
  log.append(textEvent(2, mib.repeat(40)));
  log.end();
  const seen: (string | number | undefined)[] = [];
  for await (const event of log.read()) seen.push(brief(event));
  assert.deepEqual(seen, ['1 missed', 2]);
});
