// Each program in examples runs unchanged, prints what is expected, and is listed in the README.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const prints: Readonly<Record<string, string>> = {
  'come-back.mjs': 'nothing is missing: 1 2 3 4 5 6\n',
  'drive-an-agent.mjs': 'working on 1, then working on 2: completed\n',
  'preview-a-port.mjs': 'this is /preview\n',
  'run-a-command.mjs': '8 9 10\n',
  'serve-with-a-token.mjs': 'served\n',
  'stream-a-terminal.mjs': 'the terminal had 40 rows and 120 columns\n',
  'transfer-files.mjs': '<h1>changed</h1>\n',
};

describe('an example', () => {
  guardAgainstLeaks();

  for (const file of readdirSync(join(root, 'examples'))) {
    test(`${file} prints what is expected`, async () => {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(root, 'examples', file)]);
      assert.deepEqual({ stdout, stderr }, { stdout: prints[file], stderr: '' });
      assert.ok(readme.includes(`(examples/${file})`), `the README does not name ${file}`);
    });
  }
});
