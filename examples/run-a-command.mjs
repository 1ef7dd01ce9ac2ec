// Runs commands from this program and reads their output. A non-zero exit code is a result, not an exception.
//
//   node examples/run-a-command.mjs

import assert from 'node:assert/strict';
import { connectInProcess } from 'sluice';

const client = connectInProcess();
try {
  const sorted = await client.run(['sort', '-n'], { input: '10\n9\n8\n' });
  assert.equal(sorted.stdout.text, '8\n9\n10\n');

  const failed = await client.run(['sh', '-c', 'echo "no such file" >&2; exit 3']);
  assert.equal(failed.stderr.text, 'no such file\n');
  assert.deepEqual([failed.ending.kind, failed.ending.reason], ['code', 'exited']);
  assert.equal(failed.ending.kind === 'code' && failed.ending.code, 3);

  // When the timeout expires, the command and everything it started are ended.
  const late = await client.run(['sh', '-c', 'sleep 600 & sleep 600'], { timeoutMs: 200 });
  assert.equal(late.ending.reason, 'timedOut');

  console.log(sorted.stdout.text.trim().split('\n').join(' '));
} finally {
  await client.close(); // ends every process this client started
}
