// Plugins and skills that are found on a machine, as Codex's client gets them.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { systemClock } from '#src/base/clock.js';
import { defaultLimits } from '#src/server/config.js';
import { scanRoot } from '#src/server/machine/capability-root.js';
import { discoverInstalled } from '#src/server/machine/installed-plugins.js';
import { Machine, type SharedFiles } from '#src/server/machine/machine.js';
import { readSkill } from '#src/server/machine/skill-head.js';
import { parseYaml } from '#src/server/machine/yaml-subset.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

guardAgainstLeaks();

const { signal } = new AbortController();

class Tree implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-capabilities-')));
  readonly #machine = new Machine({ files: {}, network: {}, limits: defaultLimits, clock: systemClock, ownSockets: [] });

  constructor(files: Readonly<Record<string, string | Buffer>>) {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
  }

  async shared(): Promise<SharedFiles> {
    return this.#machine.shared();
  }

  uri(name: string): string {
    return pathToFileURL(join(this.folder, name)).href;
  }

  /** What was found below a folder, by relative paths. */
  async scan(name: string) {
    const uri = this.uri(name);
    const { plugin, skills, namespaceManifests, warnings, error } = await scanRoot(await this.shared(), uri, signal);
    const shown = (text: string) => text.replaceAll(`${uri}/`, '');
    const fileName = (file: { readonly path: string } | null | undefined) =>
      file === null || file === undefined ? null : shown(file.path);
    return {
      plugin: plugin === null ? null : [plugin.manifest, plugin.mcpConfig, plugin.appsConfig].map(fileName),
      skills: skills.map(({ instructions, metadata }) => [instructions, metadata].flatMap((file) => fileName(file) ?? [])),
      manifests: namespaceManifests.map(fileName),
      warnings: warnings.map(shown),
      error,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machine.close();
    rmSync(this.folder, { recursive: true });
  }
}

const head = (name: string) => `---\nname: ${name}\ndescription: about ${name}\n---\nbody\n`;

describe('a capability root', () => {
  test('has skills down to six folders, through links to folders, each real folder once', async () => {
    await using tree = new Tree({
      'r/one/SKILL.md': head('one'),
      'r/one/agents/openai.yaml': 'a: 1',
      'r/.hidden/SKILL.md': head('hidden'),
      'r/a/b/c/d/e/f/SKILL.md': head('deep'),
      'r/a/b/c/d/e/f/g/SKILL.md': head('deeper'),
      'r/skill.md': '',
    });
    symlinkSync('one', join(tree.folder, 'r/link'));
    assert.deepEqual((await tree.scan('r')).skills, [
      ['.hidden/SKILL.md'],
      ['a/b/c/d/e/f/SKILL.md'],
      ['link/SKILL.md', 'link/agents/openai.yaml'],
    ]);
  });

  test('may be a plugin of Codex, Claude Code or Cursor, and contain others', async () => {
    await using tree = new Tree({
      'codex/.codex-plugin/plugin.json': '{"name":"p"}',
      'codex/.claude-plugin/plugin.json': '{"name":"other"}',
      'codex/.mcp.json': '{}',
      'codex/.app.json': '{}',
      'claude/.claude-plugin/plugin.json': '{"name":"p","mcpServers":"./servers.json","apps":"../apps.json"}',
      'claude/servers.json': '{}',
      'claude/.mcp.json': '{}',
      'apps.json': '{}',
      'nested/in/.cursor-plugin/plugin.json': '{"name":"p","mcpServers":{}}',
    });
    assert.deepEqual((await tree.scan('codex')).plugin, ['.codex-plugin/plugin.json', '.mcp.json', '.app.json']);
    assert.deepEqual((await tree.scan('claude')).plugin, ['.claude-plugin/plugin.json', 'servers.json', null]);
    const nested = await tree.scan('nested');
    assert.deepEqual([nested.plugin, nested.manifests], [null, ['in/.cursor-plugin/plugin.json']]);
  });

  test('that is missing or no folder is an error; a file that cannot be used is a warning', async () => {
    await using tree = new Tree({
      'r/big/SKILL.md': Buffer.alloc(1024 * 1024 + 1, 'x'),
      'r/binary/SKILL.md': Buffer.from([0xff]),
      'r/fine/SKILL.md': head('fine'),
    });
    const { skills, warnings } = await tree.scan('r');
    assert.deepEqual(skills, [['fine/SKILL.md']]);
    assert.deepEqual(warnings, [
      'capability file big/SKILL.md exceeds the 1048576-byte limit',
      'capability file binary/SKILL.md is not UTF-8',
    ]);
    assert.match((await tree.scan('missing')).error ?? '', /^failed to inspect capability root/);
    assert.match((await tree.scan('r/fine/SKILL.md')).error ?? '', /is not a directory$/);
  });

  test('has at most 16 MiB of text', async () => {
    const files = Array.from({ length: 18 }, (_, at) => [`r/${at + 10}/SKILL.md`, 'x'.repeat(1_000_000)]);
    await using tree = new Tree(Object.fromEntries(files) as Record<string, string>);
    const { skills, warnings } = await tree.scan('r');
    assert.deepEqual([skills.length, warnings.length], [16, 2]);
  });
});

describe('what a user has installed', () => {
  test('is every plugin in its newest version, and the skills of two folders', async () => {
    await using tree = new Tree({
      '.codex/plugins/cache/shop/tool/1.9.0/.codex-plugin/plugin.json': '{"name":"tool"}',
      '.codex/plugins/cache/shop/tool/1.10.0/.codex-plugin/plugin.json': '{"name":"tool","interface":{"displayName":"Tool"}}',
      '.codex/plugins/cache/shop/tool/1.10.0/skills/s/SKILL.md': head('s'),
      '.codex/plugins/cache/shop/own/local/.codex-plugin/plugin.json': '{"name":"own","mcpServers":{}}',
      '.codex/plugins/cache/shop/own/2.0.0/.codex-plugin/plugin.json': '{"name":"own"}',
      '.codex/plugins/cache/shop/bare/1/file': '',
      '.codex/skills/a/SKILL.md': head('a'),
      '.agents/skills/b/SKILL.md': 'no head',
    });
    const found = await discoverInstalled(await tree.shared(), { env: { HOME: tree.folder }, signal });
    assert.deepEqual(
      found.plugins.map(({ id, displayName, version, files, skills }) => ({
        id,
        displayName,
        version,
        servers: files.mcpConfig?.path.split('/').at(-1),
        skills: skills.map(({ name }) => name),
      })),
      [
        { id: 'own@shop', displayName: 'own', version: 'local', servers: 'plugin.json', skills: [] },
        { id: 'tool@shop', displayName: 'Tool', version: '1.10.0', servers: undefined, skills: ['tool:s'] },
      ],
    );
    assert.deepEqual(
      found.skills.map(({ name, discoveryRoot }) => [name, discoveryRoot.id]),
      [['a', 'codex-home-skills']],
    );
    const warning = 'some capability metadata could not be loaded; discovery may be incomplete';
    assert.deepEqual(found.warnings, [warning, warning]); // the plugin without a manifest, the skill without a head
  });
});

describe('the head of a skill', () => {
  const read = (text: string, metadata?: string) =>
    readSkill(
      {
        instructions: { path: 'file:///x/folder/SKILL.md', contents: text },
        metadata: metadata === undefined ? null : { contents: metadata },
      },
      undefined,
    );

  test('has a name, by default that of its folder, and must have a description', () => {
    const heads = [
      'name: "quoted: x"\ndescription: it',
      'description: d',
      'name: n',
      `name: ${'n'.repeat(65)}\ndescription: d`,
      'description: [a]',
    ];
    assert.deepEqual(
      heads.map((lines) => read(`---\n${lines}\n---\n`)?.name),
      ['quoted: x', 'folder', undefined, undefined, undefined],
    );
    assert.deepEqual([read('no head')?.name, read('---\nname: a\ndescription: d\n')?.name], [undefined, undefined]);
  });

  test('is read as people write YAML', () => {
    const heads = [
      "description: 'it''s'",
      'description: >\n  folded\n  text',
      'description: |\n  two\n  lines',
      'description: plain # comment',
      'description: goes\n  on',
      'description: with: colon\nlist:\n- a\n- b: c\n  d: e',
    ];
    assert.deepEqual(
      heads.map((lines) => read(`---\r\n${lines.replaceAll('\n', '\r\n')}\r\n---\r\n`)?.description),
      ["it's", 'folded text', 'two lines', 'plain', 'goes on', 'with: colon'],
    );
  });

  test('is completed by the file next to it', () => {
    const yaml =
      'policy:\n  allow_implicit_invocation: false\n  products: [codex]\ndependencies:\n  tools:\n    - type: "mcp"\n      value: x\n      url: "https://x"\n';
    const skill = read('---\ndescription: d\nmetadata:\n  short-description: s\n---\n', yaml);
    assert.deepEqual([skill?.shortDescription, skill?.policy], ['s', { allowImplicitInvocation: false, products: ['codex'] }]);
    const tool = {
      type: 'mcp',
      value: 'x',
      description: null,
      transport: null,
      command: null,
      url: 'https://x',
      oauthCallbackPort: null,
    };
    assert.deepEqual(skill?.dependencies, { tools: [tool] });
    assert.deepEqual(
      [read('---\ndescription: d\n---\n', 'bad: [')?.policy, read('---\ndescription: d\n---\n')?.policy],
      [null, null],
    );
  });

  test('cannot exhaust the stack', () => {
    const lines = Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth)}a:`);
    assert.throws(() => parseYaml(lines.join('\n')), /too deeply/);
  });
});
