// The tables of requests and metrics in docs/serving.md are checked against a real server, and its snippet is run.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serveOptions } from '#src/cli/serve/options.js';
import { answerTo, request, statusesIn, upgradeHeaders } from '../security/raw-http.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs', 'serving.md'), 'utf8');
const token = 'a-token-of-thirty-two-characters-x';
const bearer = `Authorization: Bearer ${token}`;

/** The request that each cell of the table's first column stands for. */
const requests: Readonly<Record<string, readonly [line: string, headers: readonly string[]]>> = {
  '`GET /` with an upgrade to a WebSocket': ['GET /', upgradeHeaders],
  '`GET /` from a browser (`Accept: text/html`)': ['GET /', ['Accept: text/html,*/*;q=0.8']],
  '`GET /` from anything else': ['GET /', ['Accept: */*']],
  '`GET /healthz`': ['GET /healthz', []],
  '`GET /readyz`': ['GET /readyz', []],
  '`GET /metrics`': ['GET /metrics', []],
  'any other path': ['GET /elsewhere', []],
};

function rows(): string[][] {
  const [, table = ''] = /^\| request \|.*\n\| --- .*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  return table
    .trim()
    .split('\n')
    .map((row) =>
      row
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
}

function block(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? assert.fail(`no block of ${language}`);
}

describe('docs/serving.md', () => {
  guardAgainstLeaks();

  test('lists the status that the server gives each request', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const file = join(folder, 'token');
    writeFileSync(file, token);
    await using server = await SluiceServer.start('websocket', ['--token-file', file]);
    assert.deepEqual(
      rows().map(([name]) => name),
      Object.keys(requests),
    );
    for (const [name = '', without = '', otherwise = ''] of rows()) {
      const [line, headers] = requests[name] ?? assert.fail(name);
      const asked = async (...more: string[]) => statusesIn(await answerTo(server, request(server, line, [...headers, ...more])));
      assert.deepEqual(await asked(), [Number.parseInt(without, 10)], name);
      assert.deepEqual(await asked(bearer), [Number.parseInt(otherwise, 10)], name);
    }
    rmSync(folder, { recursive: true });
  });

  test('names metrics that the server has, and options of its files and ports', async () => {
    await using server = await SluiceServer.start('websocket', []);
    const metrics = await (await fetch(`${server.url.replace('ws:', 'http:')}/metrics`)).text();
    const named = Array.from(page.matchAll(/`(sluice_\w+)`/g), ([, name = '']) => name);
    assert.ok(named.length >= 4);
    for (const name of named) assert.match(metrics, new RegExp(`^${name} 0$`, 'm'));
    const [, section = ''] = /^## Files and ports\n(.*?)^## /ms.exec(page) ?? [];
    const flags = Array.from(section.matchAll(/(?<![\w-])--(?:no-)?([a-z][a-z-]*)/g), ([, flag = '']) => flag);
    assert.ok(flags.length >= 12);
    assert.deepEqual(
      flags.filter((flag) => !['daemon', 'via'].includes(flag) && !serveOptions.has(flag)),
      [],
    );
  });

  test('shows a snippet that compiles and prints the output shown', () => {
    const folder = join(root, 'dist-test', 'serving');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'snippet.ts'), block('ts'));
    const options = { composite: false, declaration: false, sourceMap: false, outDir: '.', rootDir: '.' };
    const config = { extends: '../../tsconfig.base.json', compilerOptions: options, include: ['*.ts'], exclude: [] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiled = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder], { encoding: 'utf8' });
    assert.equal(compiled.stdout, '');
    const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'snippet.js')], { encoding: 'utf8', cwd: root });
    rmSync(folder, { recursive: true });
    assert.deepEqual({ stdout, stderr }, { stdout: block('text'), stderr: '' });
  });
});
