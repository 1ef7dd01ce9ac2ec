// Runs a program on a real terminal, reads its output as it arrives, types into it and resizes its window.
//
//   node examples/stream-a-terminal.mjs

import assert from 'node:assert/strict';
import { connectInProcess } from 'sluice';

const client = connectInProcess();
try {
  const shell = await client.start({
    argv: ['sh'],
    io: { kind: 'pty', rows: 24, cols: 80 },
    env: { PS1: 'ready> ' },
  });
  await shell.collectUntil({ text: 'ready> ', deadlineMs: 30_000 });

  await shell.resize({ rows: 40, cols: 120 });
  await shell.write('test -t 0 && stty size; exit 4\n');

  // A character may be split across two chunks, so the decoder keeps the incomplete part.
  const decoder = new TextDecoder();
  let screen = '';
  for await (const { bytes } of shell.output) screen += decoder.decode(bytes, { stream: true });

  assert.match(screen, /^40 120\r$/m);
  const ending = await shell.closed; // after the last output
  assert.equal(ending.kind === 'code' && ending.code, 4);
  console.log('the terminal had 40 rows and 120 columns');
} finally {
  await client.close();
}
