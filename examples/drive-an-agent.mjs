// Drives an agent program turn by turn: prompts in, typed events out, and one outcome. The agent here is a few lines of shell; for real
// agents, use the adapters `claude()` and `codex()` of sluice/runner instead.
//
//   node examples/drive-an-agent.mjs

import assert from 'node:assert/strict';
import { connectInProcess } from 'sluice';
import { jsonl, startAgent } from 'sluice/runner';

/** Answers each line of JSON with two. */
const agent = `n=0
while read -r line; do
  n=$((n + 1))
  echo '{"say":"working on '$n'"}'
  echo '{"done":'$n'}'
done`;

const client = connectInProcess();
try {
  const run = startAgent({
    client,
    adapter: jsonl({
      command: ['sh', '-c', agent],
      textOf: ({ say }) => (typeof say === 'string' ? say : undefined),
      isTurnEnd: ({ done }) => done !== undefined,
    }),
    cwd: '/',
    prompt: 'find the bug',
    idleTimeoutMs: 60_000, // ends an agent that neither writes nor works
  });

  /** @type {string[]} */
  const texts = [];
  for await (const event of run.firstTurn.events) if (event.type === 'text') texts.push(event.text);
  const second = await run.send('now fix it').result;
  assert.deepEqual([texts, second.text, second.isError], [['working on 1'], 'working on 2', false]);

  const outcome = await run.finish(); // lets the program end; `stop` would end it immediately
  assert.equal(outcome.kind, 'completed');
  console.log(`${texts.join()}, then ${second.text}: ${outcome.kind}`);
} finally {
  await client.close();
}
