// A watch whose reader is too slow.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecLink, FileEvent, LinkListeners } from '#src/client/index.js';
import { Files } from '#src/client/files.js';

test('a watch drops the oldest of more than 10 000 changes that are not read, and says so', async () => {
  let listeners: Partial<LinkListeners> = {};
  const calls: string[] = [];
  const link = {
    service: { 'files/watch': async () => calls.push('watch'), 'files/unwatch': async () => calls.push('unwatch') },
    listen: (given: Partial<LinkListeners>) => {
      listeners = given;
      return { [Symbol.dispose]: () => (listeners = {}) };
    },
    ended: new Promise<string | undefined>(() => {}),
  } as unknown as ExecLink;
  const watch = new Files(link, undefined).watch('/folder');
  await watch.ready;
  const change = (index: number) => ({ kind: 'changed', path: `/folder/${index}` }) as const;
  for (let index = 0; index < 25_000; index += 1) listeners.filesChanged?.({ watchId: 1, changes: [change(index)] });
  listeners.filesChanged?.({ watchId: 2, changes: [change(0)] }); // of another watch
  listeners.filesChanged?.({ watchId: 1, changes: [], ended: 'gone' });
  const seen: FileEvent[] = [];
  for await (const event of watch) seen.push(event);
  assert.deepEqual(seen[0], { kind: 'overflow' });
  assert.ok(seen.length > 5_000 && seen.length <= 10_001);
  assert.deepEqual(
    seen.slice(1),
    Array.from({ length: seen.length - 1 }, (_, at) => change(25_000 - seen.length + 1 + at)),
  );
  assert.deepEqual([calls, listeners], [['watch'], {}]);
});
