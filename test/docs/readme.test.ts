// The code and commands in the README are compiled and run here, and print what the README shows.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectInProcess } from '#src/index.js';
import { Background } from '../support/cli.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Everything is in this run's own temporary folder, so that two test runs do not collide. */
const readme = readFileSync(join(root, 'README.md'), 'utf8').replaceAll('/tmp/', `${tmpdir()}/`);
const socket = join(tmpdir(), 'sluice.sock');
/** A project with the package installed, in a folder of the package that git ignores, so that it finds the same compiler and types. */
const folder = join(root, 'dist-test', 'readme');

function blocks(language: string): string[] {
  return Array.from(readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms')), ([, block]) => block ?? '');
}

/** The README's programs in order, each with its output if the README shows it. */
function programs(): { readonly language: string; readonly code: string; readonly prints: string | undefined }[] {
  const pattern = /^```(ts|js)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?/gms;
  return Array.from(readme.matchAll(pattern), ([, language = '', code = '', prints]) => ({ language, code, prints }));
}

/** Runs the README's server until disposed. */
async function served(command: string): Promise<AsyncDisposable> {
  const server = spawn(join(root, 'dist', 'bin', 'sluice.cjs'), command.split(' ').slice(2), {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(server.stdout, 'data');
  return {
    [Symbol.asyncDispose]: async () => {
      const exited = once(server, 'exit');
      server.kill();
      await exited;
    },
  };
}

describe('the README', () => {
  guardAgainstLeaks();
  const snippets = programs();

  before(() => {
    // In the package itself, npx would install it first and so rebuild it while other tests use it.
    const modules = join(folder, 'node_modules');
    rmSync(folder, { recursive: true, force: true }); // left by a killed run
    mkdirSync(join(modules, '.bin'), { recursive: true });
    symlinkSync(root, join(modules, 'sluice'));
    symlinkSync('../sluice/dist/bin/sluice.cjs', join(modules, '.bin', 'sluice'));
    // A JavaScript program runs unchanged, even on the oldest supported Node.
    for (const [index, { language, code }] of snippets.entries())
      writeFileSync(join(folder, `snippet-${index}.${language}`), code);
    const options = { composite: false, declaration: false, sourceMap: false, outDir: '.', rootDir: '.' };
    const config = { extends: '../../tsconfig.base.json', compilerOptions: options, include: ['*.ts'], exclude: [] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  });
  after(() => rmSync(folder, { recursive: true }));

  test('has TypeScript snippets that compile', () => {
    assert.deepEqual([...new Set(snippets.map(({ language }) => language))].toSorted(), ['js', 'ts']);
    assert.equal(snippets.filter(({ prints }) => prints !== undefined).length, blocks('text').length);
    const compiled = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder], { encoding: 'utf8' });
    assert.equal(compiled.stdout, '');
    assert.equal(compiled.status, 0);
  });

  const [runCommand = '', testCommand = '', serveCommand = ''] = blocks('sh').map((block) => block.trim());

  for (const [index, { code, prints: expected }] of snippets.entries()) {
    if (expected === undefined) continue;
    test(`shows the output of snippet ${index + 1}`, async () => {
      await using _server = code.includes(socket) ? await served(serveCommand) : undefined;
      const ran = spawnSync(process.execPath, [join(folder, `snippet-${index}.js`)], { encoding: 'utf8', cwd: folder });
      // npm may print warnings about the machine's settings.
      const stderr = ran.stderr.replaceAll(/^npm (?:warn|notice) .*\n/gm, '');
      assert.deepEqual({ stdout: ran.stdout, stderr }, { stdout: expected, stderr: '' });
    });
  }

  test('shows the output of its console commands', async () => {
    await using background = new Background();
    const sessions = blocks('console').flatMap((block) => block.split(/^\$ /m).slice(1));
    assert.ok(sessions.length >= 5);
    for (const session of sessions) {
      const [command = '', ...expected] = session.split('\n');
      const env = { ...process.env, ...background.env };
      const { stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8', cwd: folder, env });
      assert.equal(stdout.replaceAll(/ +$/gm, ''), expected.join('\n').trimStart(), command);
    }
  });

  test('runs a command in a real terminal with its first command line', async () => {
    const [install, command = ''] = runCommand.split(' && ');
    assert.equal(install, 'npm ci');
    await using client = connectInProcess();
    const io = { kind: 'pty', rows: 33, cols: 101 } as const;
    const { stdout } = await client.run(['sh', '-c', command], { cwd: folder, io, envPolicy: { inherit: 'all' } });
    assert.match(stdout.text, /\/dev\/\S+\r+\n33 101\r+\n/);
  });

  test('runs all tests with its second command line, as continuous integration does', () => {
    assert.equal(testCommand, 'npm ci && npm test');
    const ci = readFileSync(join(root, '.ci', 'run'), 'utf8');
    assert.match(ci, /^npm ci$/m);
    assert.match(ci, /^npm test$/m);
  });
});
