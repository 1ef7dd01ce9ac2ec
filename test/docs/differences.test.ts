// docs/differences.md lists every difference, so additions to the protocol must be listed there.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { errorTable } from '#src/protocol/errors.js';
import { requests } from '#src/protocol/methods.js';
import { notifications } from '#src/protocol/notifications.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs', 'differences.md'), 'utf8');

/** Methods and notifications of Codex's servers. */
const theirMethods = new Set([
  'initialize',
  'initialized',
  'process/start',
  'process/read',
  'process/write',
  'process/signal',
  'process/terminate',
  'process/output',
  'process/exited',
  'process/closed',
  'environment/info',
  'environment/status',
  'environmentConfig/read',
  'capabilityRoots/discoverV1',
  'capabilities/discoverV2',
  'http/request',
  'http/request/bodyDelta',
  'fs/readFile',
  'fs/writeFile',
  'fs/createDirectory',
  'fs/getMetadata',
  'fs/canonicalize',
  'fs/readDirectory',
  'fs/walk',
  'fs/remove',
  'fs/copy',
  'fs/open',
  'fs/readBlock',
  'fs/writeBlock',
  'fs/close',
  'fs/watchMissing',
  'fs/missingChanged',
  'command/exec',
  'command/exec/write',
  'command/exec/resize',
  'command/exec/terminate',
  'command/exec/outputDelta',
]);
const theirCodes = new Set([-32600, -32601, -32602, -32603, -32004]);

describe('the page of differences', () => {
  test('names every method that Codex’s servers do not have', () => {
    const ours = [...Object.keys(requests), ...Object.keys(notifications)].filter((name) => !theirMethods.has(name));
    assert.deepEqual(
      ours.filter((name) => !page.includes(`\`${name}\``)),
      [],
    );
  });

  test('names every error code besides those of JSON-RPC', () => {
    const codes = Object.values(errorTable).map(({ code }) => code);
    assert.deepEqual(
      codes.filter((code) => !theirCodes.has(code) && !page.includes(String(code))),
      [],
    );
  });

  test('is linked from the README, the protocol page and the architecture page', () => {
    for (const [file, link] of [
      ['README.md', '(docs/differences.md)'],
      ['docs/protocol.md', '(differences.md)'],
      ['docs/architecture.md', '(differences.md)'],
    ] as const) {
      assert.ok(readFileSync(join(root, file), 'utf8').includes(link), file);
    }
  });
});
