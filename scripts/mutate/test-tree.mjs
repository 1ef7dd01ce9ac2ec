// A copy of the project in which one module can be replaced, and test files run on it. A mutant may signal whatever it finds, leave anything
// running or never end: each run has a pid namespace of its own, in which there is nobody else, and which ends with the run.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shellHead } from '../starter.mjs';
import { root } from '../tool.mjs';

/** Most that a process may allocate. A mutant that grows without end must not take the machine with it. */
const processKilobytes = 4 * 1024 * 1024;

/** What the runner says of a test that failed, however deep it is. */
const failure = /^ *not ok \d+ - (.*)\n/m;

/** Runs what it is given as a shell's only child. The shell is init: it collects orphans while it waits, which Node would not. */
const init = [
  'sh',
  '-c',
  // Pids far above those in a sandbox's own namespace, as they are on any machine: a test takes the one for the other otherwise.
  `echo 30000 2>/dev/null >/proc/sys/kernel/ns_last_pid; ulimit -d ${processKilobytes}; "$@"; exit $?`,
  'sh',
];

const namespace = [
  ...(process.getuid() === 0 ? [] : ['--user', '--map-current-user']),
  ...['--pid', '--fork', '--kill-child', '--mount-proc'],
  ...init,
];

/** The program without its packs, which would have to be made again for each mutant. */
const starter = `${shellHead}import(require('node:url').pathToFileURL(\`\${__dirname}/../cli/main.js\`));\n`;

/** What no test looks at, and what is put there in another way. */
const leftOut = ['.git', 'node_modules', path.join('dist', 'bin')];

export class TestTree {
  #folder = mkdtempSync(path.join(tmpdir(), 'mutate-'));
  #running;

  constructor() {
    if (spawnSync('unshare', [...namespace, 'true']).status !== 0) {
      throw new Error(
        'mutants are only let loose in a pid namespace: this needs Linux, unshare and the right to make namespaces',
      );
    }
    cpSync(root, this.#folder, { recursive: true, filter: (file) => !leftOut.includes(path.relative(root, file)) });
    symlinkSync(path.join(root, 'node_modules'), path.join(this.#folder, 'node_modules'));
    mkdirSync(path.join(this.#folder, 'dist', 'bin'));
    writeFileSync(path.join(this.#folder, 'dist', 'bin', 'sluice.cjs'), starter, { mode: 0o755 });
  }

  /** Where a compiled module of this copy lies. */
  moduleAt(name) {
    return path.join(this.#folder, 'dist', name);
  }

  /** Lets the task run with other code in a module. */
  async withModule(name, code, task) {
    const file = this.moduleAt(name);
    const original = readFileSync(file);
    writeFileSync(file, code);
    try {
      return await task();
    } finally {
      writeFileSync(file, original);
    }
  }

  /**
   * Runs a test file until its end, its first failure or the time is over, whichever comes first. Nothing of it is left afterwards.
   *
   * @param {string} file compiled, relative to the project
   * @param {{ timeoutMs: number, coverage?: string }} options `coverage` is a folder for what V8 counts, which it tells at the end:
   *   no failure cuts that short
   * @returns {Promise<{ outcome: 'passed' | 'failed' | 'hung', test: string, ms: number }>}
   */
  async run(file, { timeoutMs, coverage }) {
    const folder = mkdtempSync(path.join(tmpdir(), 'test-'));
    const startedAt = performance.now();
    const args = [...namespace, process.execPath, '--test-reporter=tap', file];
    const child = spawn('unshare', args, {
      cwd: this.#folder,
      env: { ...process.env, TMPDIR: folder, ...(coverage === undefined ? {} : { NODE_V8_COVERAGE: coverage }) },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#running = child;
    const closed = once(child, 'close');
    let said = '';
    let isLate = false;
    child.stdout.on('data', (piece) => {
      said += piece;
      if (coverage === undefined && failure.test(said)) child.kill('SIGKILL');
    });
    const timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, timeoutMs);
    const [code] = await closed;
    clearTimeout(timer);
    rmSync(folder, { recursive: true, force: true });
    const test = failure.exec(said)?.[1] ?? '';
    const outcome = isLate ? 'hung' : code === 0 && test === '' ? 'passed' : 'failed';
    return { outcome, test, ms: Math.round(performance.now() - startedAt) };
  }

  /** Ends what runs in it, too. */
  remove() {
    this.#running?.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
