// The plugins and skills that the user of this machine has installed for Codex, in the form of `capabilities/discoverV2`.

import { FileError, type NativePath, joinPath, readDirectory, uriOfPath } from '../../files/index.js';
import type { Result } from '../../protocol/index.js';
import { folderOfManifest, membersOf, scanRoot } from './capability-root.js';
import { type CodexFolders, codexFolders } from './codex-home.js';
import type { SharedFiles } from './machine.js';
import { readSkill } from './skill-head.js';

type Discovered = Result<'capabilities/discoverV2'>;
type Scanned = Awaited<ReturnType<typeof scanRoot>>;
type Skill = Discovered['plugins'][number]['skills'][number];

/** Plugins that are looked at. More than users have; each may take as long as one call of `capabilityRoots/discoverV1`. */
const mostPlugins = 128;

const incomplete = 'some capability metadata could not be loaded; discovery may be incomplete';

export interface InstalledOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export async function discoverInstalled(shared: SharedFiles, { env, signal }: InstalledOptions): Promise<Discovered> {
  const folders = codexFolders(env);
  const warnings: string[] = [];
  const plugins: Discovered['plugins'] = [];
  for (const folder of (await pluginFolders(shared, folders)).slice(0, mostPlugins)) {
    const scanned = await scanRoot(shared, uriOfPath(folder.path), signal);
    const plugin = pluginOf(scanned, folder);
    if (plugin === undefined || hasGaps(scanned, plugin.skills)) warnings.push(incomplete);
    if (plugin !== undefined) plugins.push(plugin);
  }
  const skills: Discovered['skills'] = [];
  for (const { id, path } of skillFolders(folders)) {
    const uri = uriOfPath(path);
    const scanned = await scanRoot(shared, uri, signal);
    if (scanned.error !== null) continue; // most users have only one of them
    const found = skillsIn(scanned);
    if (hasGaps(scanned, found)) warnings.push(incomplete);
    skills.push(...found.map((skill) => ({ ...skill, discoveryRoot: { id, path: uri } })));
  }
  return { plugins, skills, warnings };
}

function skillFolders({ userHome, codexHome }: CodexFolders) {
  return [
    { id: 'codex-home-skills', path: joinPath(codexHome, 'skills') },
    { id: 'user-agent-skills', path: joinPath(joinPath(userHome, '.agents'), 'skills') },
  ];
}

interface PluginFolder {
  readonly id: string;
  readonly version: string;
  readonly path: NativePath;
}

/** Codex installs each plugin into MARKETPLACE/NAME/VERSION. */
async function pluginFolders({ paths }: SharedFiles, { codexHome }: CodexFolders): Promise<PluginFolder[]> {
  const folders: PluginFolder[] = [];
  const cache = joinPath(joinPath(codexHome, 'plugins'), 'cache');
  for (const marketplace of await foldersIn(paths, cache)) {
    const inMarketplace = joinPath(cache, marketplace);
    for (const name of await foldersIn(paths, inMarketplace)) {
      const id = `${name}@${marketplace}`;
      const versions = await foldersIn(paths, joinPath(inMarketplace, name));
      const version = versions.includes('local') ? 'local' : versions.toSorted(byVersion).at(-1);
      if (version === undefined || !/^[\w.-]+@[\w.-]+$/.test(id)) continue;
      folders.push({ id, version, path: joinPath(joinPath(inMarketplace, name), version) });
    }
  }
  return folders;
}

/** Sorted; without names that are not UTF-8, which cannot be part of an id. */
async function foldersIn(paths: SharedFiles['paths'], path: NativePath): Promise<string[]> {
  try {
    const entries = await readDirectory(paths, path);
    return entries.flatMap(({ name, kind }) => (kind === 'directory' && typeof name === 'string' ? [name] : [])).toSorted();
  } catch (error) {
    if (error instanceof FileError) return [];
    throw error;
  }
}

/** 1.10 is after 1.9. */
function byVersion(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

function pluginOf(scanned: Scanned, { id, version, path }: PluginFolder): Discovered['plugins'][number] | undefined {
  if (scanned.plugin === null) return undefined;
  const { manifest, mcpConfig, appsConfig } = scanned.plugin;
  const members = membersOf(manifest.contents);
  if (Object.keys(members).length === 0 && manifest.contents.trim() !== '{}') return undefined; // no JSON object
  const shown = members['interface'];
  const displayName = typeof shown === 'object' && shown !== null && 'displayName' in shown ? shown.displayName : undefined;
  const hasInlineServers = typeof members['mcpServers'] === 'object' && members['mcpServers'] !== null;
  return {
    id,
    displayName: typeof displayName === 'string' ? displayName : nameOfPlugin(manifest),
    remotePluginId: null,
    version,
    root: uriOfPath(path),
    files: { manifest, mcpConfig: hasInlineServers ? manifest : mcpConfig, appsConfig },
    skills: skillsIn(scanned),
  };
}

/** The name in its manifest, otherwise that of its folder. */
function nameOfPlugin({ path, contents }: { readonly path: string; readonly contents: string }): string {
  const { name } = membersOf(contents);
  const folder = folderOfManifest(path)?.split('/').at(-1) ?? '';
  return typeof name === 'string' && name !== '' ? name : decodeURIComponent(folder);
}

function skillsIn({ skills, namespaceManifests }: Scanned): Skill[] {
  return skills.flatMap((files) => {
    const own = namespaceManifests
      .filter(({ path }) => files.instructions.path.startsWith(`${folderOfManifest(path)}/`))
      .toSorted((one, other) => other.path.length - one.path.length)[0];
    return readSkill(files, own === undefined ? undefined : nameOfPlugin(own)) ?? [];
  });
}

function hasGaps({ skills, warnings }: Scanned, read: readonly Skill[]): boolean {
  return warnings.length > 0 || read.length < skills.length;
}
