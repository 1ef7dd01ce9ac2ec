// `sluice doctor` through the built program: on this machine as it is, and on this machine with something taken away.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { connectInProcess } from '#src/index.js';
import { version } from '#src/server/index.js';
import { fewerThan } from '../support/few-descriptors.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { program } from '../support/sluice-server.js';

interface Report {
  readonly ok: boolean;
  readonly checks: readonly { readonly name: string; readonly state: string; readonly found: string; readonly remedy?: string }[];
}

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Node. */
  readonly nodeFlags?: readonly string[];
  /** A shell script that ends in `exec "$@"`, and so becomes the program. */
  readonly prelude?: string;
  /** The command that runs the shell. */
  readonly launcher?: readonly string[];
}

/** Runs with its own runtime folder and sandbox, so that the machine's do not matter. */
function run(args: readonly string[], { env = {}, nodeFlags = [], prelude = 'exec "$@"', launcher = [] }: Surroundings = {}) {
  using folder = new ScratchFolder();
  fakeProgram(folder, 'bwrap', 'echo bubblewrap 1.2.3');
  const own = { PATH: `${folder.path}:${process.env['PATH']}`, XDG_RUNTIME_DIR: folder.path, NO_COLOR: '1' };
  const [command = 'sh', ...rest] = [
    ...launcher,
    'sh',
    '-c',
    prelude,
    'sh',
    process.execPath,
    ...nodeFlags,
    '--',
    program,
    ...args,
  ];
  const { status, stdout, stderr } = spawnSync(command, rest, { env: { ...process.env, ...own, ...env }, encoding: 'utf8' });
  return { status, stdout, stderr };
}

function doctor(surroundings?: Surroundings) {
  const { status, stdout, stderr } = run(['doctor', '--json'], surroundings);
  assert.equal(stderr, '');
  const report = JSON.parse(stdout) as Report;
  const unwell = report.checks.filter(({ state }) => state !== 'ok');
  return { status, ok: report.ok, checks: report.checks, unwell };
}

class ScratchFolder implements Disposable {
  readonly path = mkdtempSync(path.join(tmpdir(), 'sluice-'));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

function fakeProgram(folder: ScratchFolder, name: string, script: string): void {
  writeFileSync(path.join(folder.path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** A flag of Node that changes what `require("koffi")` finds. */
function withKoffi(action: string): string[] {
  const hook = `import Module from 'node:module';
    const resolve = Module._resolveFilename;
    Module._resolveFilename = function (name, ...rest) { if (name.includes('koffi')) { ${action} } return resolve.call(this, name, ...rest); };`;
  return ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
}

// With fewer the doctor rightly warns about them, and a healthy machine cannot be shown.
const skip = fewerThan(1_024);

describe('sluice doctor', { skip }, () => {
  guardAgainstLeaks();

  test('runs every check and finds nothing wrong with a healthy machine', () => {
    const { status, ok, checks, unwell } = doctor();
    assert.deepEqual({ status, ok, unwell }, { status: 0, ok: true, unwell: [] });
    assert.deepEqual(
      checks.map(({ name }) => name),
      [
        'Node.js',
        'platform',
        'process table',
        'backend',
        'pipes',
        'terminal',
        'nothing left behind',
        'cgroup',
        'open files',
        'processes',
        'temporary folder',
        'background server',
        'sandbox',
      ],
    );
    assert.ok(checks.every(({ found }) => found !== ''));
  });

  test('prints a line for each check, the remedy below it, and a summary', () => {
    const { status, stdout } = run(['doctor'], { prelude: 'ulimit -n 64; exec "$@"' });
    assert.equal(status, 0);
    assert.match(stdout, /^✓ Node\.js {14}\d+\.\d+\.\d+$/m);
    assert.match(stdout, /^! open files {11}64, for about 16 processes at a time\n {23}→ ulimit -n 4096, .*$/m);
    assert.match(stdout, /\n\nSluice works here; warnings: 1\.\n$/);
  });

  test('colours its marks on a terminal, and not when NO_COLOR is set', async () => {
    using folder = new ScratchFolder();
    await using client = connectInProcess();
    const printed = async (env: Readonly<Record<string, string>>) => {
      const set = { TERM: 'xterm', XDG_RUNTIME_DIR: folder.path, ...env };
      const io = { kind: 'pty', rows: 24, cols: 200 } as const;
      const { stdout } = await client.run([process.execPath, '--', program, 'doctor'], {
        io,
        envPolicy: { inherit: 'core', set },
      });
      return stdout.text;
    };
    assert.ok((await printed({})).startsWith('\u001b[32m✓\u001b[39m Node.js'));
    assert.ok((await printed({ NO_COLOR: '1' })).startsWith('✓ Node.js'));
  });

  test('takes no arguments', () => {
    const { status, stderr } = run(['doctor', 'me']);
    assert.deepEqual([status, stderr.includes('doctor takes no argument "me"')], [125, true]);
  });

  test('exits with 141 when its output is no longer read', async () => {
    using folder = new ScratchFolder();
    const env = { ...process.env, XDG_RUNTIME_DIR: folder.path };
    const child = spawn(process.execPath, ['--', program, 'doctor'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.once('data', () => child.stdout.destroy());
    assert.deepEqual(await once(child, 'exit'), [141, null]);
  });

  test('warns about the portable backend without koffi, and everything else works', () => {
    const { status, unwell } = doctor({ nodeFlags: withKoffi(`throw new Error('not found');`) });
    assert.deepEqual([status, unwell.map(({ name, state }) => [name, state])], [0, [['backend', 'warning']]]);
    assert.match(unwell[0]?.found ?? '', /^portable, because koffi is not installed: daemons .* are not found/);
    assert.match(unwell[0]?.remedy ?? '', /^npm install koffi/);
  });

  test('reports why koffi cannot be loaded', () => {
    using folder = new ScratchFolder();
    const file = path.join(folder.path, 'koffi.cjs');
    writeFileSync(file, `throw new Error('made for another processor');`);
    const { status, unwell } = doctor({ nodeFlags: withKoffi(`return ${JSON.stringify(file)};`) });
    assert.deepEqual([status, unwell.map(({ name }) => name)], [0, ['backend']]);
    assert.match(unwell[0]?.found ?? '', /koffi cannot be loaded \(Error: made for another processor\)/);
  });

  test('warns when bubblewrap is not installed', () => {
    using folder = new ScratchFolder();
    for (const name of ['sh', 'cat', 'stty', 'sleep']) symlinkSync(whereIs(name), path.join(folder.path, name));
    const { status, unwell } = doctor({ env: { PATH: folder.path }, launcher: ['/bin/sh', '-c', 'exec /bin/"$@"', 'sh'] });
    assert.equal(status, 0);
    assert.deepEqual(unwell, [
      {
        name: 'sandbox',
        state: 'warning',
        found: 'sandboxed commands will be refused',
        remedy: 'bubblewrap is not in PATH: apt install bubblewrap; the package has the same name on other systems',
      },
    ]);
  });

  test('warns with the error of bubblewrap when it does not work', () => {
    using folder = new ScratchFolder();
    fakeProgram(folder, 'bwrap', 'echo "bwrap: No permissions to create new namespace" >&2; exit 1');
    const { status, unwell } = doctor({ env: { PATH: `${folder.path}:${process.env['PATH']}` } });
    assert.deepEqual([status, unwell.map(({ name, state }) => [name, state])], [0, [['sandbox', 'warning']]]);
    assert.match(unwell[0]?.remedy ?? '', /\(bwrap: No permissions to create new namespace\)/);
  });

  test('reports the folder for temporary files as broken when nothing can be written there', () => {
    using folder = new ScratchFolder();
    const file = path.join(folder.path, 'file');
    writeFileSync(file, '');
    const { status, ok, unwell } = doctor({ env: { TMPDIR: file } });
    assert.deepEqual(
      { status, ok, names: unwell.map(({ name }) => name) },
      { status: 1, ok: false, names: ['temporary folder'] },
    );
    assert.match(unwell[0]?.remedy ?? '', /TMPDIR/);
  });

  test('reports a runtime folder as broken when other users can enter it', () => {
    using folder = new ScratchFolder();
    mkdirSync(path.join(folder.path, 'sluice'));
    chmodSync(path.join(folder.path, 'sluice'), 0o755);
    const { status, unwell } = doctor({ env: { XDG_RUNTIME_DIR: folder.path } });
    assert.deepEqual([status, unwell.map(({ name, state }) => [name, state])], [1, [['background server', 'broken']]]);
    assert.match(unwell[0]?.found ?? '', /is not private/);
  });

  test('reports the background server, and leaves it running', () => {
    using folder = new ScratchFolder();
    const env = { XDG_RUNTIME_DIR: folder.path };
    assert.equal(run(['serve', '--daemon'], { env }).status, 0);
    try {
      const look = () => doctor({ env }).checks.find(({ name }) => name === 'background server')?.found ?? '';
      const found = look();
      assert.match(found, new RegExp(`^runs with pid \\d+, version ${version.replaceAll('.', '\\.')}$`));
      assert.equal(look(), found);
    } finally {
      assert.equal(run(['serve', '--stop'], { env }).status, 0);
    }
  });
});

const namespace = ['unshare', '--user', '--map-root-user', '--mount'];

// Where the kernel or a sandbox forbids namespaces, nothing can be taken away.
if (process.platform === 'linux' && spawnSync('unshare', [...namespace.slice(1), 'true']).status === 0) {
  describe('sluice doctor on a machine that lacks something', { skip }, () => {
    guardAgainstLeaks();

    test('finds the terminal broken without devpts, and says how to mount it', () => {
      const { status, ok, unwell } = doctor({ launcher: namespace, prelude: 'mount -t tmpfs tmpfs /dev/pts && exec "$@"' });
      assert.deepEqual({ status, ok, names: unwell.map(({ name }) => name) }, { status: 1, ok: false, names: ['terminal'] });
      assert.match(unwell[0]?.remedy ?? '', /mount -t devpts/);
    });

    test('reports a missing /proc, what that means, and how to mount it', () => {
      const { status, ok, unwell } = doctor({ launcher: namespace, prelude: 'mount -t tmpfs tmpfs /proc && exec "$@"' });
      const broken = unwell.filter(({ state }) => state === 'broken');
      const table = broken.find(({ name }) => name === 'process table');
      assert.deepEqual([status, ok], [1, false]);
      assert.match(`${table?.found}; ${table?.remedy}`, /\/proc is missing.*not ended.*mount -t proc proc \/proc/);
      assert.match(unwell.find(({ name }) => name === 'backend')?.found ?? '', /^portable, because \/proc is missing/);
    });

    test('detects that a process of a killed server survives, and ends it', async () => {
      const blind = [whereIs('grep'), '/proc/loadavg'].map((place) => `mount --bind /dev/null ${place} && `);
      const prelude = `${blind.join('')}exec "$@"`;
      const { status, unwell } = doctor({ launcher: namespace, prelude });
      assert.deepEqual([status, unwell.map(({ name, state }) => [name, state])], [1, [['nothing left behind', 'broken']]]);
      const pid = Number(/with pid (\d+)/.exec(unwell[0]?.found ?? '')?.[1]);
      assert.deepEqual([Number.isInteger(pid), await living([pid])], [true, []]);
    });
  });
}

function whereIs(name: string): string {
  const { stdout } = spawnSync('sh', ['-c', 'command -v "$0"', name], { encoding: 'utf8' });
  return path.resolve(stdout.trim());
}
