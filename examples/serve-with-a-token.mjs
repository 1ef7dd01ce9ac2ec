// Serves processes on a WebSocket to clients that present a token, and connects to it.
//
//   node examples/serve-with-a-token.mjs

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from 'sluice';

const sluice = fileURLToPath(new URL('../dist/bin/sluice.cjs', import.meta.url)); // just "sluice" when it is installed
const folder = mkdtempSync(path.join(tmpdir(), 'sluice-example-'));
const token = randomBytes(32).toString('hex');
const tokenFile = path.join(folder, 'token');
writeFileSync(tokenFile, token, { mode: 0o600 });

// ws://0.0.0.0:4500 would serve other machines too; without a token Sluice refuses to listen there.
const server = spawn(sluice, ['serve', '--listen', 'ws://127.0.0.1:0', '--token-file', tokenFile, '--log-level', 'error'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const exited = once(server, 'exit');
try {
  const [address] = await once(server.stdout, 'data');
  const url = String(address).trim();

  await assert.rejects(connect(url), /401/);

  const client = await connect(url, { token });
  const { stdout } = await client.run(['echo', 'served']);
  assert.equal(stdout.text, 'served\n');
  await client.close(); // ends the processes this client started; the server keeps running
  console.log(stdout.text.trim());
} finally {
  server.kill();
  await exited;
  rmSync(folder, { recursive: true });
}
