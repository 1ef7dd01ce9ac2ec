// Which of Codex's configuration files on a machine count, in which order, and what of them is returned.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { systemClock } from '#src/base/clock.js';
import { defaultLimits } from '#src/server/config.js';
import { readEnvironmentConfig } from '#src/server/machine/environment-config.js';
import { Machine } from '#src/server/machine/machine.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

guardAgainstLeaks();

class Home implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-config-')));
  readonly #machine: Machine;

  constructor(files: Readonly<Record<string, string>>, roots: readonly string[] = []) {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), text.replaceAll('HERE', this.folder));
    }
    const confined = roots.length === 0 ? {} : { roots: roots.map((root) => join(this.folder, root)) };
    this.#machine = new Machine({ files: confined, network: {}, limits: defaultLimits, clock: systemClock, ownSockets: [] });
  }

  async read(
    cwd: string,
    configPaths: readonly string[][] = [['mcp_servers']],
    requirementsPaths: readonly string[][] = [['mcp_servers']],
  ) {
    const params = {
      cwd: pathToFileURL(join(this.folder, cwd)).href,
      configPaths: [...configPaths],
      requirementsPaths: [...requirementsPaths],
    };
    const env = { HOME: this.folder };
    return readEnvironmentConfig(params, { shared: await this.#machine.shared(), env, systemFolder: join(this.folder, 'etc') });
  }

  /** The sources of the layers. */
  async sources(cwd: string): Promise<string[]> {
    const { config } = await this.read(cwd);
    return config.layers.map(({ source }) => source.replaceAll(this.folder, '~'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machine.close();
    rmSync(this.folder, { recursive: true });
  }
}

const server = (name: string) => `[mcp_servers.${name}]\nurl = "http://${name}"\n`;
const trusted = (...folders: string[]) =>
  folders.map((folder) => `[projects."HERE/${folder}"]\ntrust_level = "trusted"\n`).join('');

describe('the configuration', () => {
  test('is layered: system, user, project from the outside in, and what administrators prescribe', async () => {
    await using home = new Home({
      'etc/config.toml': server('system'),
      'etc/managed_config.toml': server('managed'),
      'etc/requirements.toml': server('required'),
      '.codex/config.toml': server('user') + trusted('p'),
      'p/.git/HEAD': 'ref: x',
      'p/.codex/config.toml': server('outer'),
      'p/q/r/.codex/config.toml': server('inner'),
    });
    const { config, requirements } = await home.read('p/q/r');
    assert.deepEqual(await home.sources('p/q/r'), [
      'system (~/etc/config.toml)',
      'user (~/.codex/config.toml)',
      'project (~/p/.codex/config.toml)',
      'project (~/p/q/r/.codex/config.toml)',
      'legacy managed_config.toml (~/etc/managed_config.toml)',
    ]);
    assert.equal(config.cloudInsertionIndex, 1);
    assert.deepEqual(requirements, {
      layers: [
        {
          source: join(home.folder, 'etc/requirements.toml'),
          baseDir: pathToFileURL(join(home.folder, 'etc')).href,
          toml: server('required'),
        },
      ],
      cloudInsertionIndex: 1,
    });
  });

  test('is cut down to the keys that are asked for, which keep their types', async () => {
    await using home = new Home({
      '.codex/config.toml':
        'a = 1\nb = 1.0\nc = 2020-01-01T00:00:00Z\n[t]\nx = "y"\nz = [true]\n[t.__proto__]\nk = 1\n[u]\nv = 1\n',
    });
    const { config } = await home.read('p', [['b'], ['a', 'deeper'], ['t', 'x'], ['t', '__proto__'], ['nope'], ['c']], []);
    assert.equal(
      config.layers[0]?.toml,
      'b = 1.0\na = 1\nc = 2020-01-01T00:00:00.000Z\n\n[t]\nx = "y"\n\n[t.__proto__]\nk = 1\n',
    );
    assert.deepEqual((await home.read('p', [['nope']], [])).config, { layers: [], cloudInsertionIndex: 0 });
  });

  test('of a project counts only where the user trusts it', async () => {
    await using home = new Home({
      '.codex/config.toml': server('user') + trusted('plain', 'repository', 'half/inner', 'real'),
      'plain/.codex/config.toml': server('a'),
      'plain/sub/.codex/config.toml': server('b'),
      'repository/.git': 'gitdir: elsewhere',
      'repository/.codex/config.toml': server('c'),
      'repository/sub/.codex/config.toml': server('d'),
      'half/.git/HEAD': '',
      'half/.codex/config.toml': server('e'),
      'half/inner/.codex/config.toml': server('f'),
      'real/.codex/config.toml': server('g'),
      'stranger/.codex/config.toml': server('h'),
    });
    symlinkSync(join(home.folder, 'real'), join(home.folder, 'link'));
    const projects = async (cwd: string) =>
      (await home.sources(cwd)).slice(1).map((source) => source.slice('project (~/'.length, -1));
    assert.deepEqual(await projects('plain'), ['plain/.codex/config.toml']);
    assert.deepEqual(await projects('plain/sub'), []); // without a repository, the project is the folder itself
    assert.deepEqual(await projects('repository/sub'), ['repository/.codex/config.toml', 'repository/sub/.codex/config.toml']);
    assert.deepEqual(await projects('half/inner'), ['half/inner/.codex/config.toml']);
    assert.deepEqual(await projects('link'), ['link/.codex/config.toml']);
    assert.deepEqual(await projects('stranger'), []);
  });

  test('of the user is not a project’s as well', async () => {
    await using home = new Home({ '.codex/config.toml': server('user') + trusted('.') });
    assert.deepEqual(await home.sources('.'), ['user (~/.codex/config.toml)']);
  });

  test('that is no TOML is an error with its place, because it may contain a restriction', async () => {
    await using home = new Home({ '.codex/config.toml': 'a = 1\nbad = = x\n' });
    await assert.rejects(home.read('p'), /config\.toml:2:\d+: /);
  });

  test('outside the roots of a confined server is not read', async () => {
    await using home = new Home({ '.codex/config.toml': server('user'), 'p/x': '' }, ['p']);
    assert.deepEqual(await home.sources('p'), []);
  });
});
