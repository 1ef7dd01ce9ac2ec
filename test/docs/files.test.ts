// The programs and commands in docs/files.md are compiled and run, and print what the page shows. The limits and options it names exist.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serveOptions } from '#src/cli/serve/options.js';
import { Files } from '#src/client/files.js';
import { Background } from '../support/cli.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs', 'files.md'), 'utf8');
/** A project with the package installed, in a folder that git ignores. */
const folder = join(root, 'dist-test', 'files-page');

interface Program {
  readonly code: string;
  readonly prints: string;
}

/** The first block is the beginning of every program that does not create its own client. */
function programs(): Program[] {
  const pattern = /^```ts\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?/gms;
  const [beginning = ['', ''], ...rest] = Array.from(page.matchAll(pattern));
  return rest.map(([, code = '', prints]) => ({
    code: code.includes('connectInProcess') ? code : `${beginning[1]}\n${code}`,
    prints: prints ?? assert.fail(`the page does not show the output of ${code}`),
  }));
}

/** Runs something in its own folder in the place of /tmp/demo. */
async function inFolder(act: (at: (text: string) => string) => Promise<void>): Promise<void> {
  const demo = mkdtempSync(join(tmpdir(), 'sluice-'));
  try {
    await act((text) => text.replaceAll('/tmp/demo', demo));
  } finally {
    rmSync(demo, { recursive: true });
  }
}

describe('docs/files.md', () => {
  guardAgainstLeaks();
  const all = programs();

  before(() => {
    const modules = join(folder, 'node_modules');
    rmSync(folder, { recursive: true, force: true }); // left by a killed run
    mkdirSync(join(modules, '.bin'), { recursive: true });
    symlinkSync(root, join(modules, 'sluice'));
    symlinkSync('../sluice/dist/bin/sluice.cjs', join(modules, '.bin', 'sluice'));
    for (const [index, { code }] of all.entries()) writeFileSync(join(folder, `program-${index}.ts`), code);
    const options = { composite: false, declaration: false, sourceMap: false, outDir: '.', rootDir: '.' };
    const config = { extends: '../../tsconfig.base.json', compilerOptions: options, include: ['*.ts'], exclude: [] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiled = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder], { encoding: 'utf8' });
    assert.equal(compiled.stdout, '');
  });
  after(() => rmSync(folder, { recursive: true }));

  test('calls every method of client.files', () => {
    const methods = Object.getOwnPropertyNames(Files.prototype).filter((name) => name !== 'constructor');
    assert.deepEqual(
      methods.filter((name) => !all.some(({ code }) => code.includes(`files.${name}(`))),
      [],
    );
  });

  for (const [index, { prints }] of all.entries()) {
    test(`shows the output of program ${index + 1}`, async () => {
      await inFolder(async (at) => {
        const program = join(folder, `program-${index}.js`);
        writeFileSync(program, at(readFileSync(program, 'utf8')));
        const { stdout, stderr } = await promisify(execFile)(process.execPath, [program]);
        assert.deepEqual({ stdout, stderr }, { stdout: at(prints), stderr: '' });
      });
    });
  }

  test('shows the output of its commands', async () => {
    await using background = new Background();
    const [, block = ''] = /^```console\n(.*?)^```$/ms.exec(page) ?? [];
    await inFolder(async (at) => {
      const env = { ...process.env, ...background.env, PATH: `${join(folder, 'node_modules', '.bin')}:${process.env['PATH']}` };
      for (const step of at(block).split(/^\$ /m).slice(1)) {
        const [command = '', ...expected] = step.split('\n');
        const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { cwd: folder, env });
        assert.deepEqual({ stdout, stderr }, { stdout: expected.join('\n'), stderr: '' }, command);
      }
    });
  });

  test('names options of the server that exist, with their defaults', () => {
    const [, table = ''] = /^\| limit \|.*\n\| --- .*\n((?:\|.*\n)+)/m.exec(page) ?? [];
    const rows = table.split('\n').filter((row) => row.includes('`--'));
    assert.ok(rows.length >= 6);
    for (const row of rows) {
      const [, , standard = '', flag = ''] = row.split('|').map((cell) => cell.trim());
      const option = serveOptions.get(flag.replaceAll(/[`-]{2,3}|`/g, '')) ?? assert.fail(`no option ${flag}`);
      assert.equal(option.default, standard.replace(/(?<=\d) (?=\d|MiB)/, ''), flag);
    }
    const [, who = ''] = /^## Who may do what\n(.*?)^## /ms.exec(page) ?? [];
    const flags = Array.from(who.matchAll(/^\| `--(?:no-)?([\w-]+)/gm), ([, flag = '']) => flag);
    assert.ok(flags.length >= 6);
    assert.deepEqual(
      flags.filter((flag) => !serveOptions.has(flag)),
      [],
    );
  });
});
