// Codex's configuration on this machine, layer by layer: the system's, the user's, that of trusted projects, and what administrators
// prescribe. Follows Codex in which files count and which project is trusted.

import { hostname } from 'node:os';
import {
  FileError,
  type NativePath,
  canonicalise,
  joinPath,
  metadata,
  pathFromUri,
  readDirectory,
  readFile,
  shownPath,
  uriOfPath,
} from '../../files/index.js';
import { type Params, type Result, execError } from '../../protocol/index.js';
import { codexFolders } from './codex-home.js';
import { fileFailureOf } from './file-failure.js';
import type { SharedFiles } from './machine.js';
import { TomlError, type TomlTable, isTable, parseToml, selectToml } from './toml-selection.js';

type Config = Result<'environmentConfig/read'>;
type Layers = Config['config'];

/** Longest configuration file, in bytes. Real ones have a few kibibytes. */
const longestFile = 1024 * 1024;

export interface ConfigContext {
  readonly shared: SharedFiles;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For tests. */
  readonly systemFolder?: string;
}

interface Document {
  readonly source: string;
  readonly folder: NativePath;
  readonly table: TomlTable;
}

export async function readEnvironmentConfig(params: Params<'environmentConfig/read'>, context: ConfigContext): Promise<Config> {
  const { configPaths, requirementsPaths } = params;
  const { shared, env, systemFolder = '/etc/codex' } = context;
  const { userHome, codexHome } = codexFolders(env);
  const files = new ConfigFiles(shared);
  const system = await files.read(systemFolder, 'config.toml', 'system');
  const user = await files.read(codexHome, 'config.toml', 'user');
  const project = await files.projects(workingFolder(params.cwd), { codexHome, known: [...system, ...user] });
  const managed = await files.read(systemFolder, 'managed_config.toml', 'legacy managed_config.toml');
  const requirements = await files.read(systemFolder, 'requirements.toml', undefined);
  return {
    userHomeDir: uriOfPath(userHome),
    codexHomeDir: uriOfPath(codexHome),
    hostname: hostname(),
    config: layersOf([...system, ...user, ...project, ...managed], configPaths, layersOf(system, configPaths, undefined)),
    requirements: layersOf(requirements, requirementsPaths, undefined),
  };
}

/** A caller's own layers belong after the system's: `below`. */
function layersOf(documents: readonly Document[], paths: readonly (readonly string[])[], below: Layers | undefined): Layers {
  const layers = documents.flatMap(({ source, folder, table }) => {
    const toml = selectToml(table, paths);
    return toml === undefined ? [] : [{ source, baseDir: uriOfPath(folder), toml }];
  });
  return { layers, cloudInsertionIndex: (below?.layers ?? layers).length };
}

function workingFolder(cwd: string): NativePath {
  try {
    return pathFromUri(cwd);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw execError('invalidParams', { problem: error.message }, { cause: error });
  }
}

class ConfigFiles {
  readonly #shared: SharedFiles;

  constructor(shared: SharedFiles) {
    this.#shared = shared;
  }

  /** None or one. Throws for a file that is there but cannot be used: to ignore it could ignore a restriction. */
  async read(folder: NativePath, name: string, kind: string | undefined): Promise<Document[]> {
    const { paths, wholeReads: budget } = this.#shared;
    const path = joinPath(folder, name);
    const shown = shownPath(path);
    try {
      const file = await readFile(paths, path, { links: 'follow', budget, mostBytes: longestFile });
      file.release();
      const table = parseToml(new TextDecoder('utf-8', { fatal: true }).decode(file.bytes));
      return [{ source: kind === undefined ? shown : `${kind} (${shown})`, folder, table }];
    } catch (error) {
      if (error instanceof FileError && (error.kind === 'notFound' || error.errno === 'ENOTDIR')) return [];
      const problem = `failed to load executor-local config: ${shown}${reasonOf(error)}`;
      throw execError('fileFailed', { problem }, { cause: fileFailureOf(error) });
    }
  }

  /** From the root of the project down to the working folder, those folders that the user trusts. */
  async projects(
    cwd: NativePath,
    known: { readonly codexHome: string; readonly known: readonly Document[] },
  ): Promise<Document[]> {
    const ways = ancestorsOf(cwd);
    const root = (await this.#findUp(ways, markersIn(known.known))) ?? cwd;
    const repository = await this.#findUp(ways, ['.git']);
    const documents: Document[] = [];
    for (const folder of ways.slice(0, ways.findIndex((each) => uriOfPath(each) === uriOfPath(root)) + 1).toReversed()) {
      const inner = joinPath(folder, '.codex');
      const isOwn = uriOfPath(inner) === uriOfPath(known.codexHome);
      const candidates = [folder, root, ...(repository === undefined ? [] : [repository])];
      if (isOwn || !(await this.#isTrusted(candidates, known.known))) continue;
      documents.push(...(await this.read(inner, 'config.toml', 'project')));
    }
    return documents;
  }

  /** The innermost folder that has one of these names in it. */
  async #findUp(folders: readonly NativePath[], names: readonly string[]): Promise<NativePath | undefined> {
    for (const folder of folders) {
      for (const name of names) if (await this.#isMarker(joinPath(folder, name))) return folder;
    }
    return undefined;
  }

  /** An empty folder is none: sandboxes leave empty folders such as `.git` behind. */
  async #isMarker(path: NativePath): Promise<boolean> {
    const { paths } = this.#shared;
    try {
      const { kind } = await metadata(paths, path, { links: 'follow' });
      return kind !== 'directory' || (await readDirectory(paths, path)).length > 0;
    } catch (error) {
      if (error instanceof FileError) return false;
      throw error;
    }
  }

  /** The first of the folders that the user has decided on counts. */
  async #isTrusted(folders: readonly NativePath[], documents: readonly Document[]): Promise<boolean> {
    for (const folder of folders) {
      for (const path of [folder, await this.#realPath(folder)]) {
        const level = trustIn(shownPath(path), documents);
        if (level !== undefined) return level === 'trusted';
      }
    }
    return false;
  }

  async #realPath(path: NativePath): Promise<NativePath> {
    try {
      return await canonicalise(this.#shared.paths, path);
    } catch (error) {
      if (error instanceof FileError) return path;
      throw error;
    }
  }
}

/** Follows the path: with line and column, if the text is no TOML. */
function reasonOf(error: unknown): string {
  const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
  const place = error instanceof TomlError ? `:${error.line}:${error.column}` : '';
  return `${place}: ${reason}`;
}

/** The folder itself first, then outwards. */
function ancestorsOf(path: NativePath): NativePath[] {
  const folders = [path];
  for (let folder = path; folder.length > 1; folders.push(folder)) folder = parentOf(folder);
  return folders;
}

function parentOf(path: NativePath): NativePath {
  const slash = path.lastIndexOf('/');
  return typeof path === 'string' ? path.slice(0, Math.max(slash, 1)) : path.subarray(0, Math.max(slash, 1));
}

/** Later documents override earlier ones. */
function trustIn(path: string, documents: readonly Document[]): string | undefined {
  const levels = documents.flatMap(({ table }) => {
    const projects = table['projects'];
    const project = isTable(projects) && Object.hasOwn(projects, path) ? projects[path] : undefined;
    const level = isTable(project) ? project['trust_level'] : undefined;
    return typeof level === 'string' ? [level] : [];
  });
  return levels.at(-1);
}

function markersIn(documents: readonly Document[]): readonly string[] {
  const markers = documents.map(({ table }) => table['project_root_markers']).findLast((each) => each !== undefined);
  return Array.isArray(markers) ? markers.filter((each) => typeof each === 'string') : ['.git'];
}
