// Finds the plugin and the skills below one folder, within Codex's limits.

import { FileError, metadata, pathFromUri, readFile, uriOfPath, walk } from '../../files/index.js';
import type { Result } from '../../protocol/index.js';
import type { SharedFiles } from './machine.js';

type Found = Omit<Result<'capabilityRoots/discoverV1'>['roots'][number], 'id' | 'path'>;
type TextFile = NonNullable<Found['plugin']>['manifest'];

/** How far a root is searched. */
const walkOptions = {
  maxDepth: 6,
  maxDirectories: 2_000,
  maxEntries: 20_000,
  directoryLinks: 'follow',
  hiddenDirectories: 'enter',
} as const;

/** Longest file, and the most of all files of a root, in bytes. */
const longestFile = 1024 * 1024;
const mostBytes = 16 * 1024 * 1024;

/** Where plugins of Codex, Claude Code and Cursor have their manifests. The first one counts. */
const manifestNames = ['.codex-plugin/plugin.json', '.claude-plugin/plugin.json', '.cursor-plugin/plugin.json'];

/** A folder that cannot be searched is reported in `error`, a file that cannot be read in `warnings`. */
export async function scanRoot(shared: SharedFiles, uri: string, signal: AbortSignal): Promise<Found> {
  try {
    const root = pathFromUri(uri);
    const { kind } = await metadata(shared.paths, root, { links: 'follow' });
    if (kind !== 'directory') return nothing(`capability root ${uri} is not a directory`);
    const outcome = await walk(shared.paths, root, { ...walkOptions, signal });
    const files = outcome.entries.filter((entry) => entry.kind === 'file').map(({ path }) => uriOfPath(path));
    const scan = new Scan(shared, new Set(files));
    if (outcome.isTruncated) scan.warnings.push(`capability scan reached its traversal limit (root: ${uri})`);
    for (const { path, message } of outcome.errors) scan.warnings.push(`failed to read ${uriOfPath(path)}: ${message}`);
    return await scan.run(uriOfPath(root));
  } catch (error) {
    if (!(error instanceof FileError) || signal.aborted) throw error;
    return nothing(`failed to inspect capability root ${uri}: ${error.message}`);
  }
}

function nothing(error: string): Found {
  return { plugin: null, skills: [], namespaceManifests: [], warnings: [], error };
}

class Scan {
  readonly warnings: string[] = [];
  readonly #shared: SharedFiles;
  readonly #files: ReadonlySet<string>;
  #bytes = 0;

  constructor(shared: SharedFiles, files: ReadonlySet<string>) {
    this.#shared = shared;
    this.#files = files;
  }

  async run(root: string): Promise<Found> {
    const namespaceManifests = await this.#readAll(this.#manifests());
    const manifest = namespaceManifests.find(({ path }) => folderOfManifest(path) === root);
    const plugin = manifest === undefined ? null : await this.#plugin(root, manifest);
    const skills: Found['skills'] = [];
    for (const path of [...this.#files].filter((file) => file.endsWith('/SKILL.md')).toSorted(byBytes)) {
      const instructions = await this.#read(path);
      if (instructions === undefined) continue;
      skills.push({ instructions, metadata: (await this.#readIfListed(`${folderOf(path)}/agents/openai.yaml`)) ?? null });
    }
    return { plugin, skills, namespaceManifests, warnings: this.warnings, error: null };
  }

  /** At most one for each folder. */
  #manifests(): string[] {
    const folders = new Set([...this.#files].flatMap((file) => folderOfManifest(file) ?? []));
    return [...folders]
      .flatMap((folder) => manifestNames.map((name) => `${folder}/${name}`).find((file) => this.#files.has(file)) ?? [])
      .toSorted(byBytes);
  }

  async #plugin(root: string, manifest: TextFile): Promise<NonNullable<Found['plugin']>> {
    const members = membersOf(manifest.contents);
    return {
      manifest,
      mcpConfig: (await this.#named(root, members['mcpServers'], '.mcp.json')) ?? null,
      appsConfig: (await this.#named(root, members['apps'], '.app.json')) ?? null,
    };
  }

  /** The file that the manifest names, or the one with the usual name if it names none. */
  async #named(root: string, given: unknown, usual: string): Promise<TextFile | undefined> {
    if (given === undefined) return this.#readIfListed(`${root}/${usual}`);
    if (typeof given !== 'string' || !given.startsWith('./')) return undefined;
    const path = new URL(given, `${root}/`).href;
    return path.startsWith(`${root}/`) ? this.#readIfListed(path) : undefined;
  }

  async #readAll(paths: readonly string[]): Promise<TextFile[]> {
    const read: TextFile[] = [];
    for (const path of paths) {
      const file = await this.#read(path);
      if (file !== undefined) read.push(file);
    }
    return read;
  }

  async #readIfListed(path: string): Promise<TextFile | undefined> {
    return this.#files.has(path) ? this.#read(path) : undefined;
  }

  async #read(uri: string): Promise<TextFile | undefined> {
    const { paths, wholeReads: budget } = this.#shared;
    const path = pathFromUri(uri);
    try {
      const { size } = await metadata(paths, path, { links: 'follow' });
      if (size > longestFile) return this.#warn(`capability file ${uri} exceeds the ${longestFile}-byte limit`);
      if (this.#bytes + size > mostBytes) return this.#warn(`capability root bundle exceeds the ${mostBytes}-byte limit`);
      const file = await readFile(paths, path, { links: 'follow', budget, mostBytes: longestFile });
      file.release(); // the text is bounded by the limits above
      this.#bytes += file.bytes.length;
      return { path: uri, contents: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file.bytes) };
    } catch (error) {
      if (error instanceof TypeError) return this.#warn(`capability file ${uri} is not UTF-8`);
      if (error instanceof FileError) return this.#warn(`failed to read capability file ${uri}: ${error.message}`);
      throw error;
    }
  }

  #warn(text: string): undefined {
    this.warnings.push(text);
  }
}

/** The members of a JSON object; none if the text is no such object. */
export function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
  } catch {
    return {}; // the client gets the text and judges it
  }
}

/** The folder of the plugin whose manifest this is. */
export function folderOfManifest(path: string): string | undefined {
  const name = manifestNames.find((each) => path.endsWith(`/${each}`));
  return name === undefined ? undefined : path.slice(0, -name.length - 1);
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function byBytes(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
